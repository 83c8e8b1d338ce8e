#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::cli {

// One record of RFC 4180, with its line end (a plain newline, as other tools of a pipe expect). It
// is UTF-8: of a field that is not, it has what JSON has (Utf8Of).
std::string CsvLine(const std::vector<std::string>& fields);

struct CsvRecord {
  int line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

// The records of a text as RFC 4180 has them, with either line end; empty lines do not count, nor
// does a byte order mark before the first. An error names the line of a quote that is not closed,
// or that text follows.
absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text);

// A number with as many digits as tell it from its neighbours, up to six.
std::string CsvNumber(double value);

}  // namespace scanline::cli
