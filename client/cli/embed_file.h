#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/clip_format.h"

namespace scanline::cli {

// The files of `embed -o X.npy`: X.npy, float32 [n, d] in C order, and X.jsonl, one line a row:
// {"input", "window", "start_s", "end_s"}, window, start_s and end_s being left out where they mean
// nothing ("input_bytes" as of MakeNdjson). Rows go to hidden files beside them as they come;
// Commit gives these their names, nothing else does.
class EmbedFile {
 public:
  // Errors: a name that is taken (unless `force`), and what the file system says.
  static absl::StatusOr<std::unique_ptr<EmbedFile>> Create(const std::string& npy, bool force);
  virtual ~EmbedFile() = default;

  // What writes the rows; for ClipRun, and of no use after this object.
  virtual std::unique_ptr<ClipFormat> format() = 0;

  virtual int64_t rows() const = 0;
  // Both files appear, each whole. Without `force` neither takes another's place, also not that of
  // one that came meanwhile.
  virtual absl::Status Commit() = 0;

  virtual const std::string& npy() const = 0;
  virtual const std::string& jsonl() const = 0;
};

}  // namespace scanline::cli
