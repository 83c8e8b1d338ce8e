#include "model/checkpoint/staging.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/checkpoint/file_writer.h"

namespace scanline {
namespace {

namespace fs = std::filesystem;

// So that the rename survives a power cut; where a file system cannot do that, it is as good as it
// gets.
void SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

absl::StatusOr<Staging> Staging::Create(const std::string& target) {
  const fs::path parent = fs::path(target).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return SystemError("create the folder", parent, error.value());
  std::string path =
      absl::StrCat(parent.string(), "/.", fs::path(target).filename().string(), ".XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return SystemError("create a folder in", parent, errno);
  fs::permissions(path, fs::perms(0755), error);
  return Staging(std::move(path), target);
}

Staging::Staging(Staging&& other) noexcept
    : path_(std::exchange(other.path_, "")), target_(std::move(other.target_)) {}

Staging::~Staging() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

absl::Status Staging::Commit() {
  SyncFolder(path_);
  const bool replaces = fs::exists(fs::symlink_status(target_));
  // An exchange leaves the old folder where this one was, and the destructor removes it.
  const unsigned flags = replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), flags) != 0) {
    return SystemError(replaces ? "replace" : "create", target_, errno);
  }
  if (!replaces) path_.clear();
  SyncFolder(fs::path(target_).parent_path());
  return absl::OkStatus();
}

}  // namespace scanline
