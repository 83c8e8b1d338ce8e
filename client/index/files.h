#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Plain file operations, each of which tells its error with the path.
namespace scanline {

// "cannot WHAT PATH: as errno says".
absl::Status FileError(absl::string_view what, const std::string& path);

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept;
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd();
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// All of `bytes` at `offset`.
absl::Status WriteAt(int fd, absl::string_view bytes, uint64_t offset, const std::string& path);
absl::Status Truncate(int fd, uint64_t bytes, const std::string& path);
absl::Status SyncData(int fd, const std::string& path);
absl::Status Rename(const std::string& from, const std::string& to);
absl::Status SyncFolder(const std::string& folder);
absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path);

// The whole file; NOT_FOUND where there is none.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes `text` beside `path` (as PATH.part), to the disk, and then gives it that name.
absl::Status ReplaceFile(const std::string& path, absl::string_view text);

// A file's first `bytes` bytes in memory, to read. Stays what it is when the name is given to
// another file.
class FileView {
 public:
  static absl::StatusOr<FileView> Open(const std::string& path);  // NOT_FOUND: there is none
  FileView() = default;
  FileView(FileView&& other) noexcept;
  FileView& operator=(FileView&& other) noexcept;
  ~FileView();
  absl::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace scanline
