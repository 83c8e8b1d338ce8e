#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace scanline::cli {

// Columns that UTF-8 text takes on a terminal: two for a wide letter, none for a combining mark.
// A byte that is no UTF-8 counts as one.
int TextWidth(absl::string_view text);

// What stays of a text that is cut. The end is for paths: it begins with a whole folder if it can.
enum class Keep { kStart, kEnd };

// The text without control characters, cut to `width` columns with an ellipsis where it was cut.
std::string FitText(absl::string_view text, int width, Keep keep = Keep::kStart);

enum class Align { kLeft, kRight };
// `text` with spaces to fill `width` columns; text that is wider is left as it is.
std::string PadText(absl::string_view text, int width, Align align);

// Control characters (and bytes that are no UTF-8) as "?": a file's name cannot drive the terminal.
std::string PrintableText(absl::string_view text);

}  // namespace scanline::cli
