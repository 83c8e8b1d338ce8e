#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::cli {

// One clip of an evaluation with what is true of it.
struct ManifestRow {
  std::string path;   // as the manifest has it
  std::string file;   // the same from here: a relative path begins at the manifest's folder
  std::string value;  // of the column that was asked for
  std::string place;  // "line 3" or "entry 3", for messages
};

// What a manifest says of a clip beside its path.
struct ManifestColumn {
  std::string name;       // "label"
  std::string example;    // for messages, "walking"
  bool integers = false;  // in JSON a number will do, as its digits
  bool lists = false;     // in JSON a list of texts will do: a row for each
};

// The rows of a manifest, in its order: a CSV whose header names the columns `path` (or `file`) and
// that of `column`, or a JSON list of objects with these keys; what else it holds does not matter.
// Errors name the place: no row at all, a missing or repeated column, a missing value, text that is
// no UTF-8. A clip may have several rows.
absl::StatusOr<std::vector<ManifestRow>> ParseManifestRows(absl::string_view text,
                                                           const std::string& folder,
                                                           const ManifestColumn& column);

// The same of a file, which an error names.
absl::StatusOr<std::string> ReadManifestText(const std::string& file);
absl::Status InManifest(const std::string& file, const absl::Status& status);

// What the path names from here, however it is spelt.
std::string CanonicalPath(const std::string& file);

}  // namespace scanline::cli
