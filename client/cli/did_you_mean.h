#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace scanline::cli {

// Letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`.
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate that `typed` was most likely meant to be, or "" where none is near.
std::string Nearest(absl::string_view typed, const std::vector<std::string>& candidates);

// "; did you mean NEAREST?" or "".
std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& candidates);

}  // namespace scanline::cli
