#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/eval_score.h"

namespace scanline::cli {

// null for what is no number, of which JSON has none.
nlohmann::ordered_json NumberJson(double value);

// {"right", "of", "share", "low", "high"}
nlohmann::ordered_json ShareJson(const Share& share);

// The line below a list of which only `shown` of `all` were shown; "" where that is all.
std::string MoreText(size_t all, size_t shown, absl::string_view what);

}  // namespace scanline::cli
