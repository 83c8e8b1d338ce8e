#include "client/cli/csv.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/json.h"

namespace scanline::cli {
namespace {

// Reads one field from `text` at `*at`, which is left at the comma or line end behind it.
absl::StatusOr<std::string> ParseField(absl::string_view text, size_t* at, int* line) {
  std::string field;
  const int first_line = *line;
  if (*at >= text.size() || text[*at] != '"') {
    const size_t end = std::min(text.find_first_of(",\r\n", *at), text.size());
    field = std::string(text.substr(*at, end - *at));
    *at = end;
    return field;
  }
  for (++*at; *at < text.size(); ++*at) {
    const char c = text[*at];
    if (c == '\n') ++*line;
    if (c != '"') {
      field += c;
    } else if (text.substr(*at, 2) == "\"\"") {
      field += text[++*at];
    } else {
      ++*at;
      if (*at == text.size() ||
          absl::string_view(",\r\n").find(text[*at]) != absl::string_view::npos) {
        return field;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("line ", *line, ": text follows a closing quote"));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("line ", first_line, ": a quote is not closed"));
}

}  // namespace

absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  std::vector<CsvRecord> records;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    CsvRecord record{line, {}};
    for (bool more = true; more;) {
      SCANLINE_ASSIGN_OR_RETURN(std::string field, ParseField(text, &at, &line));
      record.fields.push_back(std::move(field));
      more = at < text.size() && text[at] == ',';
      if (more) ++at;
    }
    if (record.fields.size() > 1 || !record.fields[0].empty()) records.push_back(std::move(record));
    if (text.substr(at, 2) == "\r\n") ++at;
    if (at < text.size()) ++at;
    ++line;
  }
  return records;
}

std::string CsvLine(const std::vector<std::string>& fields) {
  const auto quote = [](std::string* out, const std::string& bytes) {
    const std::string field = Utf8Of(bytes);
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
