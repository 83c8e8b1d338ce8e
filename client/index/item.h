#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// How a file looked when it was last read. A file of the same path, length and time counts as the
// same without being read.
struct FileStamp {
  std::string path;
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970

  bool operator==(const FileStamp&) const = default;
};

// One moment of a video: what a line of items.jsonl says about the row of the same number.
struct Item {
  std::string id;  // of ItemId
  FileStamp file;
  double start_seconds = 0;
  double end_seconds = 0;
  std::string sha256;  // of the file's bytes, hexadecimal

  bool operator==(const Item&) const = default;
};

// The same for the same bytes and moment on any machine and under any name: half of the SHA-256,
// "-", and the start in milliseconds.
std::string ItemId(absl::string_view sha256, double start_seconds);

// {"id","path","start_s","end_s","sha256","bytes","mtime_ns"}, without a line end. A path that is
// not UTF-8 has U+FFFD for such bytes, and "path_bytes" beside it: the path in base64.
std::string ItemLine(const Item& item);
absl::StatusOr<Item> ParseItem(absl::string_view line);

// Whether two lines are certainly moments of one file with one stamp, as far as can be seen without
// parsing them: much faster for the many windows of a video.
bool AreOfOneFile(absl::string_view line, absl::string_view other);

}  // namespace scanline
