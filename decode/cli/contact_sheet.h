#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "decode/rgb_image.h"

namespace scanline {

// A small copy of a picture, its long side at most kThumbnailSide.
inline constexpr int kThumbnailSide = 240;
RgbImage MakeThumbnail(const RgbView& image);

// One cell of a contact sheet. The caption may hold digits, '#', '.', '-', 's' and spaces.
struct SheetCell {
  const RgbImage* thumbnail = nullptr;
  std::string caption;
};

// The cells in rows, captions below, as a PNG file. Not empty.
absl::Status WriteContactSheet(const std::string& path, const std::vector<SheetCell>& cells);

}  // namespace scanline
