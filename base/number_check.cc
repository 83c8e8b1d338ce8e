#include "base/number_check.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace scanline {

WordCheck NumberCheck(std::string what, double least, bool with_least, double most) {
  return [=, what = std::move(what)](const std::string& typed) -> std::string {
    double value = 0;
    const bool number = absl::SimpleAtod(typed, &value) && std::isfinite(value);
    if (number && value <= most && (value > least || (with_least && value == least))) return "";
    return absl::StrCat("expected ", what, ", found ", typed);
  };
}

WordCheck RangeCheck(const std::string& unit, double least, double most) {
  return NumberCheck(absl::StrCat(unit, " from ", least, " to ", most), least, true, most);
}

}  // namespace scanline
