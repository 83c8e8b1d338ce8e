#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace scanline {

// A new file, on the disk when Close has returned. Errors are INTERNAL with what the system said.
class FileWriter {
 public:
  static absl::StatusOr<FileWriter> Create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) = delete;
  ~FileWriter();

  absl::Status Write(absl::Span<const uint8_t> bytes);
  absl::Status Close();

 private:
  FileWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

absl::Status WriteFile(const std::string& path, absl::string_view text);

// "cannot <what> <path>: <errno>"
absl::Status SystemError(absl::string_view what, const std::string& path, int error);

}  // namespace scanline
