#include "model/checkpoint/staging.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

constexpr absl::string_view kFiles[] = {"config.json", "labels.txt", "vocab.txt",
                                        "model.safetensors", "README.md"};
constexpr absl::string_view kLetters = "XXXXXX";  // which mkdtemp replaces
constexpr int kTries = 100;

std::string StagingStart(const std::string& target) {
  return absl::StrCat(".", fs::path(target).filename().string(), ".");
}

enum class Lock { kHeld, kBusy, kGone };

// Locks a folder, without waiting. Where the file system has no locks it is as good as held.
Lock LockFolder(const std::string& path, int* fd) {
  *fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (*fd < 0) return Lock::kGone;
  const bool busy = flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat info {};
  if (!busy && fstat(*fd, &info) == 0 && info.st_nlink > 0) return Lock::kHeld;
  close(*fd);
  return busy ? Lock::kBusy : Lock::kGone;
}

// A folder of a killed run bears our name, holds our files alone, and is locked by nobody.
void RemoveStale(const std::string& target) {
  const fs::path parent = fs::path(target).parent_path();
  const std::string start = StagingStart(target);
  std::error_code error;
  std::vector<std::string> stale;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    absl::string_view letters = name;
    if (!absl::ConsumePrefix(&letters, start) || letters.size() != kLetters.size()) continue;
    if (std::all_of(letters.begin(), letters.end(), absl::ascii_isalnum))
      stale.push_back(at->path());
  }
  for (const std::string& path : stale) {
    int fd = -1;
    if (LockFolder(path, &fd) != Lock::kHeld) continue;
    const auto foreign = ForeignEntry(path);
    // Without locks nobody knows whether its run is at work still.
    const bool ours = foreign.ok() && foreign->empty() && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (ours) fs::remove_all(path, error);
    close(fd);
  }
}

}  // namespace

absl::StatusOr<std::string> ForeignEntry(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    const bool known = std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
    if (!known || at->symlink_status().type() == fs::file_type::directory) return name;
  }
  if (error) return SystemError("list", folder, error.value());
  return "";
}

absl::StatusOr<Staging> Staging::Create(const std::string& target) {
  const fs::path parent = fs::path(target).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return SystemError("create the folder", parent, error.value());
  RemoveStale(target);
  for (int i = 0; i < kTries; ++i) {
    std::string path = absl::StrCat(parent.string(), "/", StagingStart(target), kLetters);
    if (mkdtemp(path.data()) == nullptr) return SystemError("create a folder in", parent, errno);
    int lock = -1;
    // Until it is locked another run may take it for stale.
    if (LockFolder(path, &lock) != Lock::kHeld) continue;
    fs::permissions(path, fs::perms(0755), error);
    return Staging(std::move(path), target, lock);
  }
  return SystemError("lock a folder in", parent, EWOULDBLOCK);
}

Staging::Staging(Staging&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      target_(std::move(other.target_)),
      lock_(std::exchange(other.lock_, -1)) {}

Staging::~Staging() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  if (lock_ >= 0) close(lock_);
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
