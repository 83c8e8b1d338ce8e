#include "client/render/file_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "client/render/file_status.h"

namespace scanline::render {

absl::StatusOr<std::unique_ptr<FileInput>> FileInput::Open(const std::string& path) {
  // O_NONBLOCK: a named pipe must not wait for its writer; it is refused below.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(errno, absl::StrCat("cannot open ", path));
  struct stat info {};
  const bool known = fstat(fd, &info) == 0;
  std::unique_ptr<FileInput> input(new FileInput(path, fd, known ? info.st_size : 0));
  if (known && S_ISREG(info.st_mode)) return input;
  return absl::InvalidArgumentError(absl::StrCat(path, ": expected a file"));
}

FileInput::~FileInput() { close(fd_); }

absl::StatusOr<int64_t> FileInput::Read(int64_t offset, uint8_t* out, int64_t size) {
  if (offset >= size_) return 0;  // also where the file has grown since
  size = std::min(size, size_ - offset);
  for (;;) {
    const ssize_t count = pread(fd_, out, static_cast<size_t>(size), offset);
    if (count >= 0) return count;
    if (errno != EINTR) return FileError(errno, absl::StrCat("cannot read ", path_));
  }
}

}  // namespace scanline::render
