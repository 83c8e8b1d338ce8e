#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/clip_format.h"
#include "client/index/files.h"

namespace scanline::cli {

// "X.jsonl" of "X.npy".
std::string RowNamesOf(const std::string& npy);

// The files of `embed -o X.npy`: X.npy, float32 [n, d] in C order, and X.jsonl, one line a row:
// {"path", "window", "start_s", "end_s"} of a clip, `window` (from 0) only for the vector of one;
// {"text"} of a text. Rows go to X.npy.part and X.jsonl.part as they come; Commit gives these their
// names, and without it they go. One thread.
class EmbedFile {
 public:
  // Errors: a name that is taken (unless `force`), another run that writes there, and what the file
  // system says.
  static absl::StatusOr<std::unique_ptr<EmbedFile>> Create(const std::string& npy, bool texts,
                                                           bool force);
  ~EmbedFile();

  // Adds the vectors of an answer. Error: one of another length than those before it, or what the
  // file system says; nothing more is taken then.
  absl::Status Add(const Outcome& outcome);
  absl::Status status() const { return status_; }
  int64_t rows() const { return rows_; }

  // Both files appear, each whole and on the disk. Without `force` neither takes another's place,
  // also not that of one that came meanwhile.
  absl::Status Commit();

  const std::string& npy() const { return npy_.path; }
  const std::string& jsonl() const { return jsonl_.path; }

 private:
  struct Part {
    std::string path;
    OwnedFd fd;
    uint64_t bytes = 0;   // written
    std::string pending;  // not yet
    bool named = false;   // has its own name
  };

  EmbedFile(bool texts, bool force) : texts_(texts), force_(force) {}
  absl::Status Open(const std::string& path, Part& part) const;
  static absl::Status Flush(Part& part, size_t keep);
  absl::Status Name(Part& part) const;
  absl::Status AddRows(const Outcome& outcome);

  const bool texts_;
  const bool force_;
  Part npy_;
  Part jsonl_;
  int64_t rows_ = 0;
  int dim_ = 0;
  absl::Status status_;
};

// Writes the answers that a ClipRun takes to `file`, and nothing to standard output.
std::unique_ptr<ClipFormat> MakeEmbedFileFormat(EmbedFile& file);

}  // namespace scanline::cli
