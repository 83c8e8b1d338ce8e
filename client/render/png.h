#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "decode/rgb_image.h"

namespace scanline::render {

// Draws an ASS script (its events of time 0) for pictures of this size onto `picture`.
absl::Status DrawScript(absl::string_view ass, RgbImage& picture);

// `picture` at another size.
absl::StatusOr<RgbImage> Resize(const RgbView& picture, int width, int height);

// FAILED_PRECONDITION, with what to install, where no font is found to draw text with.
absl::Status CheckFonts();

// Writes the PNG file `path`, whole or not at all.
absl::Status WritePng(const std::string& path, const RgbView& picture);

}  // namespace scanline::render
