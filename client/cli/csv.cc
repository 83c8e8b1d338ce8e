#include "client/cli/csv.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace scanline::cli {

std::string CsvLine(const std::vector<std::string>& fields) {
  const auto quote = [](std::string* out, const std::string& field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      absl::StrAppend(out, field);
    } else {
      absl::StrAppend(out, "\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
    }
  };
  return absl::StrCat(absl::StrJoin(fields, ",", quote), "\n");
}

std::string CsvNumber(double value) { return absl::StrFormat("%.6g", value); }

}  // namespace scanline::cli
