#include "client/render/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/render/file_status.h"

namespace scanline::render {
absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  static std::atomic<int> counter = 0;
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const std::string passing = absl::StrCat(path, ".", getpid(), "-", counter++, ".part");
    const int fd = open(passing.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return AtomicFile(path, passing, fd);
    if (errno != EEXIST) break;
  }
  return FileError(errno, absl::StrCat("cannot write ", path));
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      passing_(std::move(other.passing_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(passing_.c_str());
}

absl::Status AtomicFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, absl::StrCat("cannot write ", path_));
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  const bool renamed = fsync(fd_) == 0 && rename(passing_.c_str(), path_.c_str()) == 0;
  const int error = errno;
  if (!renamed) return FileError(error, absl::StrCat("cannot write ", path_));
  close(std::exchange(fd_, -1));
  return absl::OkStatus();
}

absl::Status WriteFileWhole(const std::string& path, absl::string_view bytes) {
  SCANLINE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SCANLINE_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

}  // namespace scanline::render
