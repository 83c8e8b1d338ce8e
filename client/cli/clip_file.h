#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace scanline::cli {

// An input that is open for reading, "-" being standard input. Errors carry a ClientError:
// FILE_NOT_FOUND, FILE_UNREADABLE. Nothing here waits for longer than a moment without asking
// `go_on`, also not for a named pipe that nobody writes to; an error of it is what Read returns.
class ClipFile {
 public:
  using GoOn = std::function<absl::Status()>;
  static absl::StatusOr<ClipFile> Open(const std::string& input, GoOn go_on);
  ClipFile(ClipFile&& other) noexcept;
  ~ClipFile();

  std::optional<uint64_t> size() const { return size_; }  // of a regular file
  absl::StatusOr<size_t> Read(char* out, size_t size);    // 0: the end
  absl::Status Rewind();                                  // of a regular file

  // FILE_CHANGED where a regular file was written to, replaced or removed since it was opened.
  absl::Status CheckUnchanged() const;

 private:
  ClipFile(std::string input, GoOn go_on, int fd);

  std::string input_;
  GoOn go_on_;
  int fd_ = -1;
  struct stat opened_ {};
  std::optional<uint64_t> size_;
};

// SHA-256 of a regular file that is at its start, to which it goes back.
absl::StatusOr<std::string> DigestOf(ClipFile& file);

// The same in hexadecimal digits; "" of what is no regular file or cannot be read to its end.
std::string ContentDigest(const std::string& path, const ClipFile::GoOn& go_on);

}  // namespace scanline::cli
