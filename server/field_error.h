#pragma once

#include <google/protobuf/duration.pb.h>

#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"

namespace scanline {

// FIELD_INVALID with the field's path, what was expected, and the beginning of what was found.
template <typename Found>
absl::Status FieldInvalid(absl::string_view field, absl::string_view expected, const Found& found) {
  const std::string seen = absl::StrCat(found).substr(0, 100);
  return MakeError(
      Reason::kFieldInvalid, absl::StrCat(field, ": expected ", expected, ", found ", seen),
      {{"field", std::string(field)}, {"expected", std::string(expected)}, {"found", seen}});
}

inline absl::StatusOr<double> Seconds(absl::string_view field,
                                      const google::protobuf::Duration& d) {
  const double seconds = static_cast<double>(d.seconds()) + d.nanos() * 1e-9;
  const bool sound = std::abs(d.nanos()) < 1'000'000'000 && std::abs(d.seconds()) < 315'576'000'001;
  if (!sound || seconds < 0) {
    return FieldInvalid(field, "a duration of at least 0 s", absl::StrCat(seconds, " s"));
  }
  return seconds;
}

}  // namespace scanline
