#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace scanline::render {

// `text` as it may be shown: one line of UTF-8 without control characters or marks that turn the
// direction of what follows. What is no UTF-8 becomes U+FFFD, a line break or a tab a space.
std::string SafeText(absl::string_view text);

// Pixels that a line takes in DejaVu Sans at an ASS font size of `size` (ascent and descent
// together): exact for ASCII but for kerning, on the large side for other letters, whose font is
// not known.
double TextWidth(absl::string_view text, double size);

// Where a text that is too long is cut.
enum class Cut { kEnd, kMiddle };

// SafeText(text), cut with an ellipsis to at most `width` pixels; "" where not even that fits.
std::string FitText(absl::string_view text, double size, double width, Cut cut);

}  // namespace scanline::render
