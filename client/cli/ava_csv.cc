#include "client/cli/ava_csv.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/csv.h"

namespace scanline::cli {
namespace {

constexpr size_t kBoxFields = 6;   // video, seconds and the four sides
constexpr double kOutside = 0.01;  // that a side may be and is moved to the edge; AVA has such

// Reads the fields of one record, and remembers the first thing wrong.
class Row {
 public:
  Row(const CsvRecord& record, absl::string_view what) : record_(record), what_(what) {}

  size_t size() const { return record_.fields.size(); }

  double Number(size_t field, absl::string_view name) {
    double value = 0;
    const std::string& text = record_.fields[field];
    if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) Wrong(name, "a number", text);
    return value;
  }

  int Action(size_t field) {
    int value = 0;
    const std::string& text = record_.fields[field];
    if (!absl::SimpleAtoi(text, &value) || value < 0) Wrong("action", "a whole number", text);
    return value;
  }

  AvaFrame Frame() {
    constexpr double kLongest = 1e9;
    const double seconds = Number(1, "seconds");
    if (record_.fields[0].empty()) Wrong("video", "a name", "");
    if (!(seconds >= 0 && seconds < kLongest)) {
      Wrong("seconds", "0 or more, less than 1e9", record_.fields[1]);
      return {};
    }
    return {record_.fields[0], std::llround(seconds * 1000)};
  }

  AvaAction Action() {
    AvaAction row;
    row.frame = Frame();
    row.x_min = Side(2, "x_min");
    row.y_min = Side(3, "y_min");
    row.x_max = Side(4, "x_max");
    row.y_max = Side(5, "y_max");
    row.action = Action(kBoxFields);
    if (row.x_max < row.x_min) WrongOrder("x", "no less", 2);
    if (row.y_max < row.y_min) WrongOrder("y", "no less", 3);
    return row;
  }

  // Of a truth, which somebody must be able to find. As it is sent: in single precision.
  AvaAction ActionWithSize() {
    const AvaAction row = Action();
    const auto has_length = [](double low, double high) {
      return static_cast<float>(low) < static_cast<float>(high);
    };
    if (!has_length(row.x_min, row.x_max)) WrongOrder("x", "more", 2);
    if (!has_length(row.y_min, row.y_max)) WrongOrder("y", "more", 3);
    return row;
  }

  double Score(size_t field) {
    const double value = Number(field, "score");
    if (!(value >= 0 && value <= 1)) Wrong("score", "a number from 0 to 1", record_.fields[field]);
    return value;
  }

  void WrongSize(absl::string_view expected) {
    status_ = absl::InvalidArgumentError(absl::StrCat(what_, ", line ", record_.line, ": expected ",
                                                      expected, ", found ", size(), " fields"));
  }

  const absl::Status& status() const { return status_; }

 private:
  double Side(size_t field, absl::string_view name) {
    const double value = Number(field, name);
    if (!(value >= -kOutside && value <= 1 + kOutside)) {
      Wrong(name, "a number from 0 to 1 (of the picture, no pixels)", record_.fields[field]);
    }
    return std::clamp(value, 0.0, 1.0);
  }

  void WrongOrder(absl::string_view axis, absl::string_view how, size_t field) {
    Wrong(absl::StrCat(axis, "_max"),
          absl::StrCat(how, " than ", axis, "_min, which is ", record_.fields[field]),
          record_.fields[field + 2]);
  }

  void Wrong(absl::string_view name, absl::string_view expected, absl::string_view found) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(what_, ", line ", record_.line, ": ", name,
                                                      ": expected ", expected, ", found \"", found,
                                                      "\""));
  }

  const CsvRecord& record_;
  absl::string_view what_;
  absl::Status status_;
};

bool NothingHappens(const CsvRecord& record) {
  const auto& fields = record.fields;
  return fields.size() == 2 ||
         (fields.size() > kBoxFields && absl::StripAsciiWhitespace(fields[kBoxFields]).empty());
}

// read(record, row) of every row; the first row that is none ends it.
template <typename Read>
absl::Status ReadRows(absl::string_view text, absl::string_view what, const Read& read) {
  const auto records = ParseCsv(text);
  if (!records.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(what, ", ", records.status().message()));
  }
  for (const CsvRecord& record : *records) {
    Row row(record, what);
    read(record, row);
    SCANLINE_RETURN_IF_ERROR(row.status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<AvaAction>> ParseAvaTruth(absl::string_view text,
                                                     absl::string_view what) {
  std::vector<AvaAction> truths;
  SCANLINE_RETURN_IF_ERROR(ReadRows(text, what, [&](const CsvRecord& record, Row& row) {
    if (NothingHappens(record)) return;
    if (row.size() != kBoxFields + 1 && row.size() != kBoxFields + 2) {
      return row.WrongSize("video,seconds,x_min,y_min,x_max,y_max,action[,person]");
    }
    truths.push_back(row.ActionWithSize());
  }));
  return truths;
}

absl::StatusOr<std::set<AvaFrame>> ParseAvaKeyframes(absl::string_view text,
                                                     absl::string_view what) {
  std::set<AvaFrame> keyframes;
  SCANLINE_RETURN_IF_ERROR(ReadRows(text, what, [&](const CsvRecord&, Row& row) {
    if (row.size() < 2) {
      return row.WrongSize("video,seconds,x_min,y_min,x_max,y_max,action[,person]");
    }
    keyframes.insert(row.Frame());
  }));
  return keyframes;
}

absl::StatusOr<std::vector<AvaAction>> ParseAvaFindings(absl::string_view text,
                                                        absl::string_view what) {
  std::vector<AvaAction> findings;
  SCANLINE_RETURN_IF_ERROR(ReadRows(text, what, [&](const CsvRecord&, Row& row) {
    if (row.size() != kBoxFields + 2) {
      return row.WrongSize("video,seconds,x_min,y_min,x_max,y_max,action,score");
    }
    findings.push_back(row.Action());
    findings.back().score = row.Score(kBoxFields + 1);
  }));
  return findings;
}

absl::StatusOr<std::set<AvaFrame>> ParseAvaExclusions(absl::string_view text,
                                                      absl::string_view what) {
  std::set<AvaFrame> excluded;
  SCANLINE_RETURN_IF_ERROR(ReadRows(text, what, [&](const CsvRecord&, Row& row) {
    if (row.size() != 2) return row.WrongSize("video,seconds");
    excluded.insert(row.Frame());
  }));
  return excluded;
}

}  // namespace scanline::cli
