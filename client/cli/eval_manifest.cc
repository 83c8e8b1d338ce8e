#include "client/cli/eval_manifest.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/did_you_mean.h"
#include "client/cli/manifest_rows.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

constexpr size_t kLabelsInMessage = 5;

using Entries = std::vector<ManifestEntry>;

// Each clip is there once.
absl::Status CheckClips(const Entries& entries) {
  std::map<std::string, const ManifestEntry*> entry_of;  // by canonical path
  for (const ManifestEntry& entry : entries) {
    const auto [first, is_new] = entry_of.emplace(CanonicalPath(entry.file), &entry);
    if (is_new) continue;
    const ManifestEntry& other = *first->second;
    return absl::InvalidArgumentError(PrintableText(
        absl::StrCat(entry.place, ": ", entry.path, " is on ", other.place, " already",
                     entry.path == other.path ? "" : absl::StrCat(", as ", other.path))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Entries> ParseManifest(absl::string_view text, const std::string& folder) {
  SCANLINE_ASSIGN_OR_RETURN(
      std::vector<ManifestRow> rows,
      ParseManifestRows(text, folder, {.name = "label", .example = "walking", .integers = true}));
  Entries entries;
  for (ManifestRow& row : rows) {
    entries.push_back({.path = std::move(row.path),
                       .file = std::move(row.file),
                       .label = std::move(row.value),
                       .place = std::move(row.place)});
  }
  SCANLINE_RETURN_IF_ERROR(CheckClips(entries));
  return entries;
}

absl::StatusOr<Entries> ReadManifest(const std::string& file) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadManifestText(file));
  auto entries = ParseManifest(text, std::filesystem::path(file).parent_path().native());
  if (!entries.ok()) return InManifest(file, entries.status());
  return entries;
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
