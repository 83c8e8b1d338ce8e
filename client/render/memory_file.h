#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::render {

// A file without a name that holds `content`, for libraries that read only by path.
class MemoryFile {
 public:
  static absl::StatusOr<MemoryFile> Make(absl::string_view content);
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  // Of letters, digits and slashes only. Each opening reads from the start.
  std::string path() const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace scanline::render
