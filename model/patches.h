#pragma once

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "model/config.h"

namespace scanline {

// The patch embedding is a matrix product: row (t * rows + y) * columns + x holds the values of
// patch (y, x) of step t in the order of the convolution's weight, [3][tubelet][patch][patch].

// Number of values in a row.
int64_t PatchLength(const BackboneConfig& config);

// A model reads (pixel / 255 - mean) / std of each channel. The weight of the patch embedding takes
// that in (Backbone), so that rows of pictures hold pixel - 128: whole numbers, round zero to keep
// the sums small.
struct PixelNorm {
  std::array<float, 3> mean;
  std::array<float, 3> std;
};
inline constexpr float kPixelCentre = 128;

// The part of a picture that shows something, in pixels from its upper left corner. The rest is
// padding, which reads as if its normalised value were 0. 0 x 0: all of it.
struct PictureArea {
  int width = 0;
  int height = 0;
};

// `pictures`: config.frames pictures of rows x columns patches, RGB bytes. Rows hold pixel -
// kPixelCentre.
void PatchesFromPictures(absl::Span<const uint8_t* const> pictures, const PixelNorm& norm,
                         const BackboneConfig& config, float* rows, PictureArea area = {});

// `video`: normalised already, [3][frames][height][width].
void PatchesFromVideo(const float* video, const BackboneConfig& config, float* rows);

}  // namespace scanline
