#pragma once

#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "model/config.h"

namespace scanline {

// The patch embedding is a matrix product: row (t * grid + y) * grid + x holds the values of patch
// (y, x) of step t in the order of the convolution's weight, [3][tubelet][patch][patch].

// Number of values in a row.
int64_t PatchLength(const BackboneConfig& config);

// (value / 255 - mean) / std of every pixel value, [channel][value].
using PixelTable = std::array<std::array<float, 256>, 3>;
PixelTable MakePixelTable(const std::array<float, 3>& mean, const std::array<float, 3>& std);

// `pictures`: config.frames pictures of size x size RGB bytes.
void PatchesFromPictures(absl::Span<const uint8_t* const> pictures, const PixelTable& table,
                         const BackboneConfig& config, float* rows);

// `video`: normalised already, [3][frames][size][size].
void PatchesFromVideo(const float* video, const BackboneConfig& config, float* rows);

}  // namespace scanline
