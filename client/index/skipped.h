#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/index/item.h"

namespace scanline {

// A file that has no rows of its own, and why: a line of skipped.ndjson.
struct SkippedFile {
  FileStamp file;
  std::string sha256;   // "": not known
  std::string same_as;  // the path that has the same bytes; "": it failed
  std::string code;     // of a failure, "INVALID_ARGUMENT"
  std::string reason;   // "VIDEO_UNREADABLE"
  std::string message;

  bool operator==(const SkippedFile&) const = default;
};

// {"path","bytes","mtime_ns","sha256"} with "same_as" or "error": {code, reason, message}.
std::string SkippedLine(const SkippedFile& skipped);

// The lines of the folder; none where there is no such file, and without those that a crash cut.
std::vector<SkippedFile> ReadSkipped(const std::string& folder);

// Makes these the lines; more can be appended by AppendSkipped.
absl::Status WriteSkipped(const std::string& folder, const std::vector<SkippedFile>& skipped);
absl::Status AppendSkipped(const std::string& folder, const SkippedFile& skipped);

}  // namespace scanline
