#include "model/checkpoint/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {

absl::Status SystemError(absl::string_view what, const std::string& path, int error) {
  return MakeError(Reason::kInternal,
                   absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error)));
}

absl::StatusOr<FileWriter> FileWriter::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return SystemError("create", path, errno);
  return FileWriter(fd, path);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FileWriter::Write(absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Close() {
  const bool synced = fsync(fd_) == 0;
  const int error = errno;
  if (close(std::exchange(fd_, -1)) != 0 && synced) return SystemError("write", path_, errno);
  return synced ? absl::OkStatus() : SystemError("write", path_, error);
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  SCANLINE_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  SCANLINE_RETURN_IF_ERROR(
      file.Write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  return file.Close();
}

}  // namespace scanline
