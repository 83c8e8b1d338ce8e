#include "server/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"

namespace scanline {

Admission::Ticket::Ticket(Ticket&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), bytes_(other.bytes_), since_(other.since_) {}

Admission::Ticket& Admission::Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Release(absl::Now());
    owner_ = std::exchange(other.owner_, nullptr);
    bytes_ = other.bytes_;
    since_ = other.since_;
  }
  return *this;
}

void Admission::Ticket::Resize(int64_t bytes) {
  if (owner_ == nullptr) return;
  MutexLock lock(owner_->mu_);
  owner_->figures_.bytes += bytes - bytes_;
  bytes_ = bytes;
}

void Admission::Ticket::Release(absl::Time now) {
  if (owner_ == nullptr) return;
  MutexLock lock(owner_->mu_);
  owner_->figures_.requests -= 1;
  owner_->figures_.bytes -= bytes_;
  owner_->mean_stay_ += (now - since_ - owner_->mean_stay_) / 8;
  owner_ = nullptr;
}

absl::StatusOr<Admission::Ticket> Admission::Admit(int64_t bytes, absl::Time now) {
  MutexLock lock(mu_);
  if (draining_) {
    return MakeError(Reason::kDraining,
                     "this server is shutting down and takes no new work; send the request again, "
                     "to another one",
                     {{"retry_delay_ms", "0"}});
  }
  if (figures_.requests + 1 > limits_.max_requests || figures_.bytes + bytes > limits_.max_bytes) {
    return Refusal(bytes);
  }
  figures_.requests += 1;
  figures_.bytes += bytes;
  return Ticket(this, bytes, now);
}

absl::Status Admission::Refusal(int64_t bytes) const {
  const absl::Duration delay = std::clamp(mean_stay_, absl::Milliseconds(10), absl::Seconds(10));
  const int64_t delay_ms = absl::ToInt64Milliseconds(delay);
  return MakeError(
      Reason::kQueueFull,
      absl::StrCat("the server is full: ", figures_.requests, " requests with ", figures_.bytes,
                   " bytes are in flight, this one has ", bytes, " bytes, and the limits are ",
                   limits_.max_requests, " requests and ", limits_.max_bytes,
                   " bytes; try again in ", delay_ms, " ms"),
      {{"requests", absl::StrCat(figures_.requests)},
       {"bytes", absl::StrCat(figures_.bytes)},
       {"max_requests", absl::StrCat(limits_.max_requests)},
       {"max_bytes", absl::StrCat(limits_.max_bytes)},
       {"retry_delay_ms", absl::StrCat(delay_ms)}});
}

bool Admission::TryHold(int64_t bytes) {
  MutexLock lock(mu_);
  if (figures_.bytes + bytes > limits_.max_bytes) return false;
  figures_.bytes += bytes;
  return true;
}

void Admission::GiveBack(int64_t bytes) {
  MutexLock lock(mu_);
  figures_.bytes -= bytes;
}

void Admission::Drain() {
  MutexLock lock(mu_);
  draining_ = true;
}

Admission::Figures Admission::figures() const {
  MutexLock lock(mu_);
  return figures_;
}

}  // namespace scanline
