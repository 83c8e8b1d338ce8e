#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::render {

// A file that appears whole or not at all: written under a passing name in the same folder, renamed
// by Commit. Without a Commit nothing is left of it.
class AtomicFile {
 public:
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  const std::string& passing_path() const { return passing_; }
  absl::Status Write(absl::string_view bytes);
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string passing, int fd)
      : path_(std::move(path)), passing_(std::move(passing)), fd_(fd) {}

  std::string path_;
  std::string passing_;
  int fd_;
};

// All of it at once, for texts (.ass, .vtt) and small files.
absl::Status WriteFileWhole(const std::string& path, absl::string_view bytes);

}  // namespace scanline::render
