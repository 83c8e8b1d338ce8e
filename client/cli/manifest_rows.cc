#include "client/cli/manifest_rows.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/csv.h"
#include "client/cli/text_file.h"
#include "client/cli/text_width.h"
#include "client/utf8.h"

namespace scanline::cli {
namespace {

constexpr absl::string_view kPathNames[] = {"path", "file"};

using Rows = std::vector<ManifestRow>;

// The only column of one of `names`; -1 if there is none or more than one.
template <typename Names>
int ColumnOf(const std::vector<std::string>& header, const Names& names) {
  int column = -1;
  for (size_t i = 0; i < header.size(); ++i) {
    const std::string found = absl::AsciiStrToLower(absl::StripAsciiWhitespace(header[i]));
    if (std::find(std::begin(names), std::end(names), found) == std::end(names)) continue;
    if (column >= 0) return -1;
    column = static_cast<int>(i);
  }
  return column;
}

absl::StatusOr<Rows> FromCsv(absl::string_view text, const ManifestColumn& column) {
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text));
  if (records.empty()) return Rows{};
  const std::vector<std::string>& header = records[0].fields;
  const absl::string_view value_names[] = {column.name};
  const int path = ColumnOf(header, kPathNames);
  const int value = ColumnOf(header, value_names);
  if (path < 0 || value < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a header with one column path (or file) and one column ",
                     column.name, ", found: ", PrintableText(absl::StrJoin(header, ","))));
  }
  Rows rows;
  for (size_t i = 1; i < records.size(); ++i) {
    const auto& fields = records[i].fields;
    const std::string place = absl::StrCat("line ", records[i].line);
    if (fields.size() != header.size()) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": expected ", header.size(),
                                                     " fields, as the header has, found ",
                                                     fields.size()));
    }
    rows.push_back({.path = fields[static_cast<size_t>(path)],
                    .value = fields[static_cast<size_t>(value)],
                    .place = place});
  }
  return rows;
}

// The values of one JSON object; none where they are missing or of another type.
std::vector<std::string> ValuesOf(const nlohmann::json& item, const ManifestColumn& column) {
  const auto value = item.is_object() ? item.find(column.name) : item.end();
  if (value == item.end()) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (column.integers && value->is_number_integer()) return {value->dump()};
  const bool texts = column.lists && value->is_array() &&
                     std::all_of(value->begin(), value->end(),
                                 [](const nlohmann::json& one) { return one.is_string(); });
  return texts ? value->get<std::vector<std::string>>() : std::vector<std::string>{};
}

absl::StatusOr<Rows> FromJson(absl::string_view text, const ManifestColumn& column) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("it is not valid JSON");
  if (!json.is_array()) {
    return absl::InvalidArgumentError(absl::StrCat("expected a list: [{\"path\": \"a.mp4\", \"",
                                                   column.name, "\": \"", column.example,
                                                   "\"}, ...]"));
  }
  Rows rows;
  int number = 0;
  for (const auto& item : json) {
    ManifestRow row{.place = absl::StrCat("entry ", ++number)};
    if (item.is_object() && item.contains("path") && item.contains("file")) {
      return absl::InvalidArgumentError(
          absl::StrCat(row.place, ": expected one of path and file, found both"));
    }
    for (const absl::string_view name : kPathNames) {
      const auto value = item.is_object() ? item.find(std::string(name)) : item.end();
      if (value != item.end() && value->is_string() && row.path.empty()) row.path = *value;
    }
    std::vector<std::string> values = ValuesOf(item, column);
    if (values.empty()) values.emplace_back();  // Which is refused, with the place.
    for (std::string& value : values) {
      row.value = std::move(value);
      rows.push_back(row);
    }
  }
  return rows;
}

absl::Status CheckRows(const Rows& rows, const ManifestColumn& column) {
  if (rows.empty()) return absl::InvalidArgumentError("it lists no clip");
  for (const ManifestRow& row : rows) {
    const auto complain = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(row.place, ": ", what));
    };
    if (row.path.empty()) return complain("expected a path, found none");
    if (row.value.empty()) {
      return complain(absl::StrCat("no ", column.name, " for ", PrintableText(row.path)));
    }
    if (!IsUtf8(row.path) || !IsUtf8(row.value)) return complain("the text is not UTF-8");
  }
  return absl::OkStatus();
}

}  // namespace

std::string CanonicalPath(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(whole, error);
  return (error ? whole.lexically_normal() : canonical).native();
}

absl::StatusOr<Rows> ParseManifestRows(absl::string_view text, const std::string& folder,
                                       const ManifestColumn& column) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // A byte order mark, as spreadsheets write it.
  const absl::string_view head = absl::StripLeadingAsciiWhitespace(text).substr(0, 1);
  SCANLINE_ASSIGN_OR_RETURN(
      Rows rows, head == "[" || head == "{" ? FromJson(text, column) : FromCsv(text, column));
  for (ManifestRow& row : rows) {
    row.file = (std::filesystem::path(folder) / row.path).lexically_normal().native();
    row.value = std::string(absl::StripAsciiWhitespace(row.value));
    if (row.file == "-") row.file = "./-";  // Not standard input.
  }
  SCANLINE_RETURN_IF_ERROR(CheckRows(rows, column));
  return rows;
}

absl::StatusOr<std::string> ReadManifestText(const std::string& file) {
  return ReadTextFile("the manifest", file);
}

absl::Status InManifest(const std::string& file, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("the manifest ", PrintableText(file), ": ", status.message()));
}

}  // namespace scanline::cli
