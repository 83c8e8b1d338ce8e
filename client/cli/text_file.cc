#include "client/cli/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/text_width.h"
#include "client/index/files.h"

namespace scanline::cli {
namespace {

constexpr size_t kStep = size_t{1} << 20;

bool IsNull(const struct stat& info) {
  constexpr unsigned kMemory = 1, kNull = 3;  // Linux, devices.txt
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == kMemory && minor(info.st_rdev) == kNull;
}

// Empty: it may be read.
absl::string_view WhyNot(int fd, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) return "it is a folder";
  if (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) return "";
  return IsNull(info) || isatty(fd) == 1 ? "" : "it is a device";
}

class Reading {
 public:
  Reading(absl::string_view what, const std::string& path, uint64_t most)
      : name_(absl::StrCat("cannot read ", what, " ", PrintableText(path), ": ")), most_(most) {}

  absl::StatusOr<std::string> Run(const std::string& path) const {
    const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd.ok() || fstat(fd.get(), &info) != 0) return Error(std::strerror(errno));
    if (const auto why = WhyNot(fd.get(), info); !why.empty()) return Error(why);
    const uint64_t size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : kStep;
    if (S_ISREG(info.st_mode) && size > most_) return TooMuch();
    // One byte more than there may be tells whether there is more.
    std::string text(static_cast<size_t>(std::min(size, most_) + 1), '\0');
    for (size_t had = 0;;) {
      const ssize_t count = read(fd.get(), text.data() + had, text.size() - had);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Error(std::strerror(errno));
      had += static_cast<size_t>(count);
      if (count == 0) {
        text.resize(had);
        return text;
      }
      if (had > most_) return TooMuch();
      if (had == text.size()) text.resize(static_cast<size_t>(std::min(2 * had, most_ + 1)));
    }
  }

 private:
  absl::Status Error(absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, why));
  }
  absl::Status TooMuch() const { return Error(absl::StrCat("it has more than ", most_, " bytes")); }

  const std::string name_;
  const uint64_t most_;
};

}  // namespace

absl::StatusOr<std::string> ReadTextFile(absl::string_view what, const std::string& path,
                                         uint64_t most) {
  return Reading(what, path, most).Run(path);
}

}  // namespace scanline::cli
