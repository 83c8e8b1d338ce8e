#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace scanline::cli {

// An input that is open for reading, "-" being standard input. Errors carry a ClientError:
// FILE_NOT_FOUND, FILE_UNREADABLE. Waiting for a pipe ends with CANCELLED once `given_up` is true.
class ClipFile {
 public:
  using GivenUp = std::function<bool()>;
  static absl::StatusOr<ClipFile> Open(const std::string& input, GivenUp given_up);
  ClipFile(ClipFile&& other) noexcept;
  ~ClipFile();

  std::optional<uint64_t> size() const { return size_; }  // of a regular file
  absl::StatusOr<size_t> Read(char* out, size_t size);    // 0: the end
  absl::Status Rewind();                                  // of a regular file

 private:
  ClipFile(std::string input, GivenUp given_up, int fd)
      : input_(std::move(input)), given_up_(std::move(given_up)), fd_(fd) {}

  std::string input_;
  GivenUp given_up_;
  int fd_ = -1;
  std::optional<uint64_t> size_;
};

}  // namespace scanline::cli
