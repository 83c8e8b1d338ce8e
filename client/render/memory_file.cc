#include "client/render/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/render/file_status.h"

namespace scanline::render {

absl::StatusOr<MemoryFile> MemoryFile::Make(absl::string_view content) {
  const int fd = memfd_create("scanline", MFD_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot make a file in memory");
  MemoryFile file(fd);
  while (!content.empty()) {
    const ssize_t count = write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "cannot fill a file in memory");
    content.remove_prefix(static_cast<size_t>(count));
  }
  return file;
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

std::string MemoryFile::path() const { return absl::StrCat("/proc/self/fd/", fd_); }

}  // namespace scanline::render
