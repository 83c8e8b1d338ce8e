#include "server/upload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

// The folder is for the log alone, not for clients.
void LogFileError(absl::string_view what, const std::string& folder, int error) {
  LogError("cannot %s an upload's temporary file in %s: %s", what, folder, std::strerror(error));
}

absl::Status NoRoom(absl::string_view what, const std::string& folder, int error) {
  LogFileError(what, folder, error);
  return MakeError(Reason::kUploadStorage,
                   absl::StrCat("expected room for the upload in a temporary file, found none: ",
                                std::strerror(error), "; try again in 1000 ms"),
                   {{"retry_delay_ms", "1000"}});
}

std::string FolderOf(const UploadLimits& limits) {
  if (!limits.spill_folder.empty()) return limits.spill_folder;
  std::error_code unknown;
  return std::filesystem::temp_directory_path(unknown).string();
}

// Open to this process alone and without a name, so that nothing is left behind.
int OpenUnlinked(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = folder + "/scanline-upload-XXXXXX";  // not every file system has O_TMPFILE
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

absl::Status CheckSpillFolder(const std::string& folder) {
  const int fd = OpenUnlinked(folder);
  if (fd < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a folder in which files can be made as --upload-dir, found ", folder,
                     ": ", std::strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

struct Upload::File {
  File(int fd_in, std::string folder_in) : fd(fd_in), folder(std::move(folder_in)) {}
  ~File() { close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  absl::Status Write(int64_t offset, absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = pwrite(fd, bytes.data(), bytes.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return NoRoom("write", folder, count < 0 ? errno : ENOSPC);
      offset += count;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) const {
    while (true) {
      const ssize_t count = pread(fd, out, static_cast<size_t>(size), offset);
      if (count > 0) return count;
      if (count < 0 && errno == EINTR) continue;
      LogFileError("read", folder, count < 0 ? errno : EIO);
      return MakeError(Reason::kInternal, "cannot read the upload's temporary file");
    }
  }

  const int fd;
  const std::string folder;
};

Upload::Upload(UploadClaim claim, const Cancel& cancel, UploadBudget* budget)
    : claim_(std::move(claim)), cancel_(cancel), budget_(budget), number_(budget->Enter()) {}

Upload::~Upload() {
  Discard();
  budget_->Leave(number_);
}

bool Upload::MayReceive(UploadBudget::OnRoom on_room) {
  {
    MutexLock lock(mu_);
    if (discarded_) return true;
  }
  return budget_->MayReceive(number_, std::move(on_room));
}

absl::Status Upload::Append(absl::string_view bytes) {
  const auto total = received() + static_cast<int64_t>(bytes.size());
  absl::Status status;
  if (claim_.bytes > 0 && total > claim_.bytes) {
    status = MakeError(Reason::kChecksumMismatch,
                       absl::StrCat("the upload was to have ", claim_.bytes,
                                    " bytes and has at "
                                    "least ",
                                    total, "; send it again"),
                       {{"expected", absl::StrCat(claim_.bytes)}, {"found", absl::StrCat(total)}});
  } else if (total > budget_->limits().max_bytes) {
    status = MakeError(
        Reason::kClipTooLarge,
        absl::StrCat("the upload has at least ", total, " bytes; this server takes up to ",
                     budget_->limits().max_bytes),
        {{"limit", absl::StrCat(budget_->limits().max_bytes)}, {"actual", absl::StrCat(total)}});
  } else {
    if (!claim_.sha256.empty()) digest_.Add(bytes);
    status = Store(bytes);
  }
  if (!status.ok()) {
    Fail(status);
    return status;
  }
  MutexLock lock(mu_);
  received_ = total;
  changed_.notify_all();
  return failure_;
}

absl::Status Upload::Store(absl::string_view bytes) {
  const bool in_memory = !spilled();
  if (in_memory) {
    bytes = StoreInMemory(bytes);
    if (bytes.empty()) return absl::OkStatus();
    SCANLINE_RETURN_IF_ERROR(Spill());
  }
  std::shared_ptr<File> file;
  int64_t offset = 0;
  {
    MutexLock lock(mu_);
    if (!keeps()) return absl::OkStatus();
    file = file_;
    offset = stored_;
  }
  SCANLINE_RETURN_IF_ERROR(file->Write(offset, bytes));
  MutexLock lock(mu_);
  if (!keeps()) return absl::OkStatus();
  const auto count = static_cast<int64_t>(bytes.size());
  stored_ += count;
  file_held_ += count;
  budget_->HoldFile(count);
  return absl::OkStatus();
}

absl::string_view Upload::StoreInMemory(absl::string_view bytes) {
  MutexLock lock(mu_);
  if (!keeps()) return {};
  while (!bytes.empty()) {
    const auto block = static_cast<size_t>(stored_ / kBlockBytes);
    if (block == blocks_.size()) {
      const int64_t memory = static_cast<int64_t>(blocks_.size() + 1) * kBlockBytes;
      if (memory > budget_->limits().memory_bytes || !budget_->TryHoldMemory(kBlockBytes)) {
        return bytes;
      }
      blocks_.push_back(Block(new uint8_t[kBlockBytes]));
    }
    const int64_t at = stored_ % kBlockBytes;
    const size_t count = std::min(bytes.size(), static_cast<size_t>(kBlockBytes - at));
    std::memcpy(blocks_[block].get() + at, bytes.data(), count);
    stored_ += static_cast<int64_t>(count);
    bytes.remove_prefix(count);
  }
  return {};
}

absl::Status Upload::Spill() {
  const std::string folder = FolderOf(budget_->limits());
  const int fd = OpenUnlinked(folder);
  if (fd < 0) return NoRoom("make", folder, errno);
  auto file = std::make_shared<File>(fd, folder);
  std::vector<Block> blocks;
  int64_t stored = 0;
  {
    MutexLock lock(mu_);
    blocks = blocks_;
    stored = stored_;
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto offset = static_cast<int64_t>(i) * kBlockBytes;
    const auto count = static_cast<size_t>(std::min(kBlockBytes, stored - offset));
    SCANLINE_RETURN_IF_ERROR(
        file->Write(offset, {reinterpret_cast<const char*>(blocks[i].get()), count}));
  }
  Kept memory;
  {
    MutexLock lock(mu_);
    if (!keeps()) return absl::OkStatus();
    memory = TakeKept();
    file_ = std::move(file);
    file_held_ = stored;
    budget_->HoldFile(stored);
  }
  GiveBack(memory);
  return absl::OkStatus();
}

absl::Status Upload::End() {
  const std::string digest = digest_.Finish();
  absl::Status status;
  const int64_t total = received();
  if (claim_.bytes > 0 && total != claim_.bytes) {
    status = MakeError(Reason::kChecksumMismatch,
                       absl::StrCat("the upload was to have ", claim_.bytes, " bytes and has ",
                                    total, "; send it again"),
                       {{"expected", absl::StrCat(claim_.bytes)}, {"found", absl::StrCat(total)}});
  } else if (!claim_.sha256.empty() && digest != claim_.sha256) {
    const std::string expected = absl::BytesToHexString(claim_.sha256);
    const std::string found = absl::BytesToHexString(digest);
    status = MakeError(Reason::kChecksumMismatch,
                       absl::StrCat("the upload was to have SHA-256 ", expected, " and has ", found,
                                    "; send it again"),
                       {{"expected", expected}, {"found", found}});
  }
  if (!status.ok()) Fail(status);
  MutexLock lock(mu_);
  ended_ = true;
  changed_.notify_all();
  return failure_;
}

void Upload::Fail(const absl::Status& why) {
  Kept kept;
  {
    MutexLock lock(mu_);
    failure_.Update(why);
    kept = TakeKept();
    changed_.notify_all();
  }
  GiveBack(kept);
}

void Upload::Wake() {
  MutexLock lock(mu_);
  changed_.notify_all();
}

void Upload::Discard() {
  Kept kept;
  {
    MutexLock lock(mu_);
    discarded_ = true;
    kept = TakeKept();
  }
  GiveBack(kept);
}

Upload::Kept Upload::TakeKept() {
  const Kept kept = {static_cast<int64_t>(blocks_.size()) * kBlockBytes, file_held_};
  blocks_.clear();
  file_.reset();
  file_held_ = 0;
  return kept;
}

void Upload::GiveBack(const Kept& kept) {
  budget_->GiveBackMemory(kept.memory_bytes);
  budget_->GiveBackFile(kept.file_bytes);
}

absl::Status Upload::Await(int64_t bytes, MutexLock& lock) {
  const absl::Time begin = absl::Now();
  bool stood = false;
  while (true) {
    if (!failure_.ok()) return failure_;
    const absl::Status alive = cancel_.Check(Reason::kExpiredInDecode);
    if (ended_ || received_ >= bytes || !alive.ok()) {
      if (stood) waited_ += absl::Now() - begin;
      return alive;
    }
    stood = true;
    if (cancel_.deadline() == absl::InfiniteFuture()) {
      changed_.wait(lock.native());
    } else {
      changed_.wait_until(lock.native(), absl::ToChronoTime(cancel_.deadline()));
    }
  }
}

absl::StatusOr<int64_t> Upload::Read(int64_t offset, uint8_t* out, int64_t size) {
  std::shared_ptr<File> file;
  int64_t count = 0;
  {
    MutexLock lock(mu_);
    if (claim_.bytes > 0 && offset >= claim_.bytes) return 0;
    SCANLINE_RETURN_IF_ERROR(Await(offset + 1, lock));
    count = std::min(size, received_ - offset);
    if (count <= 0) return 0;
    if (file_ == nullptr) {
      const int64_t at = offset % kBlockBytes;
      count = std::min(count, kBlockBytes - at);
      std::memcpy(out, blocks_[static_cast<size_t>(offset / kBlockBytes)].get() + at,
                  static_cast<size_t>(count));
      return count;
    }
    file = file_;
  }
  return file->Read(offset, out, count);
}

absl::StatusOr<int64_t> Upload::Size() {
  if (claim_.bytes > 0) return claim_.bytes;
  MutexLock lock(mu_);
  SCANLINE_RETURN_IF_ERROR(Await(std::numeric_limits<int64_t>::max(), lock));
  return received_;
}

absl::StatusOr<bool> Upload::Reaches(int64_t bytes) {
  if (claim_.bytes > 0) return bytes <= claim_.bytes;
  MutexLock lock(mu_);
  SCANLINE_RETURN_IF_ERROR(Await(bytes, lock));
  return bytes <= received_;
}

absl::Status Upload::AwaitVerdict() {
  MutexLock lock(mu_);
  return Await(std::numeric_limits<int64_t>::max(), lock);
}

absl::Status Upload::failure() const {
  MutexLock lock(mu_);
  return failure_;
}

bool Upload::all_came() const {
  MutexLock lock(mu_);
  return ended_ || (claim_.bytes > 0 && received_ >= claim_.bytes);
}

int64_t Upload::received() const {
  MutexLock lock(mu_);
  return received_;
}

absl::Duration Upload::waited() const {
  MutexLock lock(mu_);
  return waited_;
}

bool Upload::spilled() const {
  MutexLock lock(mu_);
  return file_ != nullptr;
}

}  // namespace scanline
