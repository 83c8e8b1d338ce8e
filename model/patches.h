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

// (value / 255 - mean) / std of every pixel value, [channel][value].
using PixelTable = std::array<std::array<float, 256>, 3>;
PixelTable MakePixelTable(const std::array<float, 3>& mean, const std::array<float, 3>& std);

// The part of a picture that shows something, in pixels from its upper left corner. The rest is
// padding, whose normalised value is 0. 0 x 0: all of it.
struct PictureArea {
  int width = 0;
  int height = 0;
};

// `pictures`: config.frames pictures of rows x columns patches, RGB bytes.
void PatchesFromPictures(absl::Span<const uint8_t* const> pictures, const PixelTable& table,
                         const BackboneConfig& config, float* rows, PictureArea area = {});

// `video`: normalised already, [3][frames][height][width].
void PatchesFromVideo(const float* video, const BackboneConfig& config, float* rows);

}  // namespace scanline
