#include "client/cli/eval_manifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/csv.h"
#include "client/cli/did_you_mean.h"
#include "client/cli/json.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

constexpr size_t kLabelsInMessage = 5;
constexpr absl::string_view kPathNames[] = {"path", "file"};

using Entries = std::vector<ManifestEntry>;

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

// What the path names from here, however it is spelt.
std::string CanonicalPath(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(whole, error);
  return (error ? whole.lexically_normal() : canonical).native();
}

absl::StatusOr<Entries> FromCsv(absl::string_view text) {
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text));
  if (records.empty()) return Entries{};
  const std::vector<std::string>& header = records[0].fields;
  constexpr absl::string_view kLabelNames[] = {"label"};
  const int path = ColumnOf(header, kPathNames);
  const int label = ColumnOf(header, kLabelNames);
  if (path < 0 || label < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a header with one column path (or file) and one column label, found: ",
        PrintableText(absl::StrJoin(header, ","))));
  }
  Entries entries;
  for (size_t i = 1; i < records.size(); ++i) {
    const auto& fields = records[i].fields;
    const std::string place = absl::StrCat("line ", records[i].line);
    if (fields.size() != header.size()) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": expected ", header.size(),
                                                     " fields, as the header has, found ",
                                                     fields.size()));
    }
    entries.push_back({.path = fields[static_cast<size_t>(path)],
                       .label = fields[static_cast<size_t>(label)],
                       .place = place});
  }
  return entries;
}

absl::StatusOr<Entries> FromJson(absl::string_view text) {
  const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("it is not valid JSON");
  if (!json.is_array()) {
    return absl::InvalidArgumentError(
        R"(expected a list: [{"path": "a.mp4", "label": "walking"}, ...])");
  }
  Entries entries;
  for (const auto& item : json) {
    ManifestEntry entry{.place = absl::StrCat("entry ", entries.size() + 1)};
    if (item.is_object() && item.contains("path") && item.contains("file")) {
      return absl::InvalidArgumentError(
          absl::StrCat(entry.place, ": expected one of path and file, found both"));
    }
    for (const absl::string_view name : kPathNames) {
      const auto value = item.is_object() ? item.find(std::string(name)) : item.end();
      if (value != item.end() && value->is_string() && entry.path.empty()) entry.path = *value;
    }
    const auto label = item.is_object() ? item.find("label") : item.end();
    if (label != item.end() && label->is_string()) entry.label = *label;
    if (label != item.end() && label->is_number_integer()) entry.label = label->dump();
    entries.push_back(std::move(entry));
  }
  return entries;
}

absl::Status CheckEntries(const Entries& entries) {
  if (entries.empty()) return absl::InvalidArgumentError("it lists no clip");
  std::map<std::string, const ManifestEntry*> entry_of;  // by canonical path
  for (const ManifestEntry& entry : entries) {
    const auto complain = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(entry.place, ": ", what));
    };
    if (entry.path.empty()) return complain("expected a path, found none");
    if (entry.label.empty())
      return complain(absl::StrCat("no label for ", PrintableText(entry.path)));
    if (!IsUtf8(entry.path) || !IsUtf8(entry.label)) return complain("the text is not UTF-8");
    const auto [first, is_new] = entry_of.emplace(CanonicalPath(entry.file), &entry);
    if (is_new) continue;
    const ManifestEntry& other = *first->second;
    return complain(PrintableText(
        absl::StrCat(entry.path, " is on ", other.place, " already",
                     entry.path == other.path ? "" : absl::StrCat(", as ", other.path))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Entries> ParseManifest(absl::string_view text, const std::string& folder) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // A byte order mark, as spreadsheets write it.
  const absl::string_view head = absl::StripLeadingAsciiWhitespace(text).substr(0, 1);
  SCANLINE_ASSIGN_OR_RETURN(Entries entries,
                            head == "[" || head == "{" ? FromJson(text) : FromCsv(text));
  for (ManifestEntry& entry : entries) {
    entry.file = (std::filesystem::path(folder) / entry.path).lexically_normal().native();
    if (entry.file == "-") entry.file = "./-";  // Not standard input.
  }
  SCANLINE_RETURN_IF_ERROR(CheckEntries(entries));
  return entries;
}

absl::StatusOr<Entries> ReadManifest(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read the manifest ", PrintableText(file)));
  }
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  auto entries = ParseManifest(text, std::filesystem::path(file).parent_path().native());
  if (entries.ok()) return entries;
  return absl::InvalidArgumentError(
      absl::StrCat("the manifest ", PrintableText(file), ": ", entries.status().message()));
}

absl::Status ResolveLabels(const std::vector<std::string>& labels, const std::string& model,
                           Entries& entries) {
  std::map<std::string, int> by_name;
  for (size_t i = 0; i < labels.size(); ++i) by_name.emplace(labels[i], static_cast<int>(i));
  std::set<std::string> unknown;
  std::vector<std::string> said;
  for (ManifestEntry& entry : entries) {
    const auto named = by_name.find(entry.label);
    int index = -1;
    if (named != by_name.end()) {
      index = named->second;
    } else if (!absl::SimpleAtoi(entry.label, &index) || index < 0 ||
               index >= static_cast<int>(labels.size())) {
      if (unknown.insert(entry.label).second && said.size() < kLabelsInMessage) {
        said.push_back(absl::StrCat(entry.place, ": ", PrintableText(entry.label),
                                    PrintableText(DidYouMean(entry.label, labels))));
      }
      continue;
    }
    entry.class_index = index;
  }
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      unknown.size(), unknown.size() == 1 ? " label is" : " labels are", " none of the ",
      labels.size(), " of ", model, ", neither by name nor as an index from 0\n  ",
      absl::StrJoin(said, "\n  "), unknown.size() > said.size() ? "\n  ..." : ""));
}

}  // namespace scanline::cli
