#include "client/cli/boxes_file.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/csv.h"
#include "client/cli/spec.h"
#include "client/cli/text_file.h"

namespace scanline::cli {
namespace {

constexpr std::array<const char*, 5> kNames = {"time", "x1", "y1", "x2", "y2"};
constexpr double kLatest = 1e9;  // seconds

absl::Status Wrong(absl::string_view where, absl::string_view name, absl::string_view expected,
                   absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, name, ": expected ", expected, ", found \"", found, "\""));
}

// NaN is in no range.
absl::StatusOr<double> NumberFrom0(absl::string_view where, size_t field, const std::string& text,
                                   double most, absl::string_view expected) {
  double value = 0;
  if (absl::SimpleAtod(text, &value) && value >= 0 && value <= most) return value;
  return Wrong(where, kNames[field], expected, text);
}

// `timed`: whether the rows have times.
absl::StatusOr<v1::BoundingBox> ParseBox(const CsvRecord& record, absl::string_view where,
                                         bool timed) {
  if (record.fields.size() != kNames.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "expected time,x1,y1,x2,y2, found ", record.fields.size(), " fields"));
  }
  v1::BoundingBox box;
  const bool has_time = !absl::StripAsciiWhitespace(record.fields[0]).empty();
  if (has_time != timed) {
    return Wrong(where, "time", timed ? "seconds, as in the rows before" : "none in any row",
                 record.fields[0]);
  }
  if (timed) {
    SCANLINE_ASSIGN_OR_RETURN(const double seconds, NumberFrom0(where, 0, record.fields[0], kLatest,
                                                                "seconds, 0 or more"));
    SetSeconds(seconds, box.mutable_time_offset());
  }
  std::array<float, 5> sides{};
  for (size_t i = 1; i < sides.size(); ++i) {
    SCANLINE_ASSIGN_OR_RETURN(
        const double side,
        NumberFrom0(where, i, record.fields[i], 1, "a number from 0 to 1 (of the picture)"));
    sides[i] = static_cast<float>(side);
  }
  for (const size_t low : {1, 2}) {
    if (sides[low] < sides[low + 2]) continue;
    return Wrong(where, kNames[low + 2],
                 absl::StrCat("more than ", kNames[low], ", which is ", record.fields[low]),
                 record.fields[low + 2]);
  }
  box.set_x_min(sides[1]);
  box.set_y_min(sides[2]);
  box.set_x_max(sides[3]);
  box.set_y_max(sides[4]);
  return box;
}

}  // namespace

absl::StatusOr<std::vector<v1::BoundingBox>> ParseBoxes(absl::string_view text,
                                                        absl::string_view what) {
  auto records = ParseCsv(text);
  if (!records.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ", ", records.status().message()));
  }
  std::vector<v1::BoundingBox> boxes;
  bool timed = false;
  for (const CsvRecord& record : *records) {
    const absl::string_view first = absl::StripAsciiWhitespace(record.fields[0]);
    if (&record == &records->front() && absl::EqualsIgnoreCase(first, kNames[0])) continue;
    if (boxes.empty()) timed = !first.empty();
    SCANLINE_ASSIGN_OR_RETURN(
        v1::BoundingBox box,
        ParseBox(record, absl::StrCat(what, ", line ", record.line, ": "), timed));
    boxes.push_back(std::move(box));
  }
  if (boxes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has no box: expected rows time,x1,y1,x2,y2"));
  }
  return boxes;
}

absl::StatusOr<std::vector<v1::BoundingBox>> ReadBoxes(const std::string& file) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile("the boxes of", file));
  return ParseBoxes(text, file);
}

}  // namespace scanline::cli
