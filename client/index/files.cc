#include "client/index/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace scanline {

absl::Status FileError(absl::string_view what, const std::string& path) {
  const int error = errno;
  return absl::Status(
      error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable,
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error)));
}

OwnedFd::OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

absl::Status WriteAt(int fd, absl::string_view bytes, uint64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::Status Truncate(int fd, uint64_t bytes, const std::string& path) {
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? absl::OkStatus() : FileError("cut", path);
}

absl::Status SyncData(int fd, const std::string& path) {
  return fdatasync(fd) == 0 ? absl::OkStatus() : FileError("write", path);
}

absl::Status Rename(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str()) == 0 ? absl::OkStatus() : FileError("rename", from);
}

absl::Status SyncFolder(const std::string& folder) {
  const OwnedFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok()) return FileError("open", folder);
  // Some file systems cannot; what they promise about names is then all there is.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return FileError("write", folder);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return FileError("read", path);
  return static_cast<uint64_t>(info.st_size);
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  SCANLINE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path));
  return std::string(file.bytes());
}

absl::Status ReplaceFile(const std::string& path, absl::string_view text) {
  const std::string part = path + ".part";
  {
    const OwnedFd fd(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd.ok()) return FileError("write", part);
    SCANLINE_RETURN_IF_ERROR(WriteAt(fd.get(), text, 0, part));
    SCANLINE_RETURN_IF_ERROR(SyncData(fd.get(), part));
  }
  return Rename(part, path);
}

absl::StatusOr<FileView> FileView::Open(const std::string& path) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return FileError("read", path);
  SCANLINE_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(fd.get(), path));
  FileView file;
  if (size == 0) return file;
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return FileError("read", path);
  file.data_ = static_cast<const char*>(data);
  file.size_ = size;
  return file;
}

FileView::FileView(FileView&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
FileView& FileView::operator=(FileView&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
FileView::~FileView() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace scanline
