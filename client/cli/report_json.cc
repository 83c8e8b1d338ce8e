#include "client/cli/report_json.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace scanline::cli {

nlohmann::ordered_json NumberJson(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json ShareJson(const Share& share) {
  return {{"right", share.right},
          {"of", share.of},
          {"share", NumberJson(share.value)},
          {"low", NumberJson(share.low)},
          {"high", NumberJson(share.high)}};
}

std::string MoreText(size_t all, size_t shown, absl::string_view what) {
  if (all <= shown) return "";
  return absl::StrCat("... and ", all - shown, " more ", what, ": see summary.json (-o DIR)\n");
}

}  // namespace scanline::cli
