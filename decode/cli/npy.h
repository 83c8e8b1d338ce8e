#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/rgb_image.h"

namespace scanline {

// Writes a NumPy file of uint8, C order. `bytes` has the product of `shape`. UNAVAILABLE where the
// file cannot be written.
absl::Status WriteNpy(const std::string& path, const std::vector<int64_t>& shape,
                      absl::Span<const uint8_t> bytes);

// A picture as [height, width, 3].
absl::Status WriteNpy(const std::string& path, const RgbView& image);

}  // namespace scanline
