#include "server/upload_budget.h"

#include <utility>

namespace scanline {
namespace {

void CallAll(const std::map<int64_t, UploadBudget::OnRoom>& waiters) {
  for (const auto& [upload, on_room] : waiters) on_room();
}

}  // namespace

int64_t UploadBudget::Enter() {
  MutexLock lock(mu_);
  uploads_[next_] = nullptr;
  return next_++;
}

void UploadBudget::Leave(int64_t upload) {
  std::map<int64_t, OnRoom> waiters;
  {
    MutexLock lock(mu_);
    uploads_.erase(upload);
    waiters = TakeWaiters();
  }
  CallAll(waiters);
}

bool UploadBudget::MayReceive(int64_t upload, OnRoom on_room) {
  MutexLock lock(mu_);
  const auto self = uploads_.find(upload);
  if (memory_ + file_ < limits_.total_bytes || self == uploads_.begin() || self == uploads_.end()) {
    return true;
  }
  self->second = std::move(on_room);
  return false;
}

bool UploadBudget::TryHoldMemory(int64_t bytes) {
  if (!admission_->TryHold(bytes)) return false;
  MutexLock lock(mu_);
  memory_ += bytes;
  return true;
}

void UploadBudget::GiveBackMemory(int64_t bytes) {
  if (bytes == 0) return;
  admission_->GiveBack(bytes);
  std::map<int64_t, OnRoom> waiters;
  {
    MutexLock lock(mu_);
    memory_ -= bytes;
    waiters = TakeWaiters();
  }
  CallAll(waiters);
}

void UploadBudget::HoldFile(int64_t bytes) {
  MutexLock lock(mu_);
  file_ += bytes;
}

void UploadBudget::GiveBackFile(int64_t bytes) {
  if (bytes == 0) return;
  std::map<int64_t, OnRoom> waiters;
  {
    MutexLock lock(mu_);
    file_ -= bytes;
    waiters = TakeWaiters();
  }
  CallAll(waiters);
}

UploadBudget::Figures UploadBudget::figures() const {
  MutexLock lock(mu_);
  return {static_cast<int64_t>(uploads_.size()), memory_, file_};
}

std::map<int64_t, UploadBudget::OnRoom> UploadBudget::TakeWaiters() {
  std::map<int64_t, OnRoom> waiters;
  for (auto& [upload, on_room] : uploads_) {
    if (on_room != nullptr) waiters[upload] = std::exchange(on_room, nullptr);
  }
  return waiters;
}

}  // namespace scanline
