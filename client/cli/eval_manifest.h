#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::cli {

// One clip of an evaluation with its true label.
struct ManifestEntry {
  std::string path;   // as the manifest has it
  std::string file;   // the same from here: a relative path begins at the manifest's folder
  std::string label;  // as the manifest has it: a name or an index
  std::string place;  // "line 3" or "entry 3", for messages
  int class_index = -1;
};

// The clips that a manifest lists, in its order. It is a CSV whose header names the columns `path`
// (or `file`) and `label`, or a JSON list of objects with these keys; what else it holds does not
// matter. Errors name the place: no clip at all, a missing or repeated column, a missing value, a
// clip listed twice under whatever spelling, text that is no UTF-8. Labels are not looked at:
// ResolveLabels does that.
absl::StatusOr<std::vector<ManifestEntry>> ParseManifest(absl::string_view text,
                                                         const std::string& folder);
absl::StatusOr<std::vector<ManifestEntry>> ReadManifest(const std::string& file);

// Finds the class of each entry among `labels` of the model: by name, else as an index from 0. An
// error names the first few labels that are neither, and what may have been meant.
absl::Status ResolveLabels(const std::vector<std::string>& labels, const std::string& model,
                           std::vector<ManifestEntry>& entries);

}  // namespace scanline::cli
