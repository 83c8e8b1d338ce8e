#include "client/cli/clip_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "client/cli/local_error.h"
#include "client/client_error.h"

namespace scanline::cli {
namespace {

constexpr int kLookUpMs = 100;

absl::Status ErrnoError(int error, const std::string& path) {
  if (error == ENOENT || error == ENOTDIR) {
    return MakeClientError(absl::StatusCode::kNotFound, kFileNotFound,
                           absl::EndsWith(path, "/") ? "no such file or folder" : "no such file");
  }
  return MakeClientError(absl::ErrnoToStatusCode(error), kFileUnreadable,
                         absl::StrCat("cannot be read: ", std::strerror(error)));
}

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Not only st_mtim, which can be set back: st_ctim cannot, and it also moves when the name is given
// to another file, which takes it from this one.
bool SameContent(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         SameTime(a.st_mtim, b.st_mtim) && SameTime(a.st_ctim, b.st_ctim);
}

}  // namespace

absl::StatusOr<ClipFile> ClipFile::Open(const std::string& input, GoOn go_on) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  const int fd = input == "-" ? STDIN_FILENO : open(input.c_str(), kFlags);
  if (fd < 0) return ErrnoError(errno, input);
  return ClipFile(input, std::move(go_on), fd);
}

ClipFile::ClipFile(std::string input, GoOn go_on, int fd)
    : input_(std::move(input)), go_on_(std::move(go_on)), fd_(fd) {
  if (fstat(fd_, &opened_) == 0 && S_ISREG(opened_.st_mode)) {
    size_ = static_cast<uint64_t>(opened_.st_size);
  }
}

ClipFile::ClipFile(ClipFile&& other) noexcept
    : input_(std::move(other.input_)),
      go_on_(std::move(other.go_on_)),
      fd_(std::exchange(other.fd_, -1)),
      opened_(other.opened_),
      size_(other.size_) {}

ClipFile::~ClipFile() {
  if (fd_ > STDIN_FILENO) close(fd_);
}

absl::StatusOr<size_t> ClipFile::Read(char* out, size_t size) {
  for (;;) {
    SCANLINE_RETURN_IF_ERROR(go_on_());
    if (!size_.has_value()) {
      // Until its first writer comes, read() would take a named pipe for ended; poll() does not.
      pollfd ready = {fd_, POLLIN, 0};
      if (poll(&ready, 1, kLookUpMs) <= 0) continue;
    }
    const ssize_t count = read(fd_, out, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR && errno != EAGAIN) return ErrnoError(errno, input_);
  }
}

absl::Status ClipFile::Rewind() {
  if (lseek(fd_, 0, SEEK_SET) != 0) return ErrnoError(errno, input_);
  return absl::OkStatus();
}

absl::Status ClipFile::CheckUnchanged() const {
  if (!size_.has_value()) return absl::OkStatus();
  struct stat now {};
  if (fstat(fd_, &now) == 0 && SameContent(now, opened_)) return absl::OkStatus();
  return MakeClientError(absl::StatusCode::kAborted, kFileChanged, "changed while it was read");
}

absl::StatusOr<std::string> DigestOf(ClipFile& file) {
  Digest digest;
  std::vector<char> piece(size_t{1} << 20);
  while (true) {
    SCANLINE_ASSIGN_OR_RETURN(const size_t count, file.Read(piece.data(), piece.size()));
    if (count == 0) break;
    digest.Add({piece.data(), count});
  }
  SCANLINE_RETURN_IF_ERROR(file.Rewind());
  return digest.Finish();
}

std::string ContentDigest(const std::string& path, const ClipFile::GoOn& go_on) {
  auto file = ClipFile::Open(path, go_on);
  if (!file.ok() || !file->size().has_value()) return "";
  const auto digest = DigestOf(*file);
  return digest.ok() ? absl::BytesToHexString(*digest) : "";
}

}  // namespace scanline::cli
