#pragma once

namespace scanline {

// Features of a picture, [height][width][channels] row-major.
struct FeatureMap {
  const float* values = nullptr;
  int height = 0;
  int width = 0;
  int channels = 0;
};

struct RoiAlignOptions {
  int size = 7;            // cells a side
  int sampling_ratio = 0;  // samples a side of a cell; 0: as many as it is wide, rounded up
  bool aligned = false;    // values stand in the middle of their cells, half a cell further on
};

// In units of the map's cells.
struct Roi {
  float x_min = 0;
  float y_min = 0;
  float x_max = 0;
  float y_max = 0;
};

// RoIAlign (He and others, arXiv 1703.06870) as torchvision.ops.roi_align defines it, with a
// spatial scale of 1: each cell of a size x size grid over `roi` is the mean of bilinear samples;
// samples more than one cell outside the map are 0. `out` is [size][size][channels]. `roi` is
// finite and no larger than a few maps: the adaptive number of samples grows with its area.
void RoiAlign(const FeatureMap& map, const Roi& roi, const RoiAlignOptions& options, float* out);

}  // namespace scanline
