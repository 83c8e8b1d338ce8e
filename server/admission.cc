#include "server/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"

namespace scanline {
namespace {

// Whether `more` of one kind fits beside its `own` and the `other` kind's. What decoding adds is
// never refused, so clips may come to hold more than they were let in with; the kept share of the
// texts is theirs all the same.
bool FitsBeside(int64_t own, int64_t other, int64_t more, int64_t limit, bool keep_shares) {
  const int64_t kept = keep_shares ? limit / 8 : 0;
  return own + more <= kept || own + more <= limit - std::max(kept, other);
}

}  // namespace

Admission::Ticket::Ticket(Ticket&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      kind_(other.kind_),
      bytes_(other.bytes_),
      since_(other.since_) {}

Admission::Ticket& Admission::Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Release(absl::Now());
    owner_ = std::exchange(other.owner_, nullptr);
    kind_ = other.kind_;
    bytes_ = other.bytes_;
    since_ = other.since_;
  }
  return *this;
}

void Admission::Ticket::Resize(int64_t bytes) {
  if (owner_ == nullptr) return;
  MutexLock lock(owner_->mu_);
  owner_->of(kind_).bytes += bytes - bytes_;
  bytes_ = bytes;
}

void Admission::Ticket::Release(absl::Time now) {
  if (owner_ == nullptr) return;
  MutexLock lock(owner_->mu_);
  owner_->of(kind_).requests -= 1;
  owner_->of(kind_).bytes -= bytes_;
  owner_->mean_stay_ += (now - since_ - owner_->mean_stay_) / 8;
  owner_ = nullptr;
}

absl::StatusOr<Admission::Ticket> Admission::Admit(int64_t bytes, absl::Time now, WorkKind kind) {
  MutexLock lock(mu_);
  if (draining_) {
    return MakeError(Reason::kDraining,
                     "this server is shutting down and takes no new work; send the request again, "
                     "to another one",
                     {{"retry_delay_ms", "0"}});
  }
  if (!Fits(kind, {.requests = 1, .bytes = bytes})) return Refusal(kind, bytes);
  of(kind).requests += 1;
  of(kind).bytes += bytes;
  return Ticket(this, kind, bytes, now);
}

bool Admission::Fits(WorkKind kind, Figures more) const {
  const auto at = static_cast<size_t>(kind);
  const Figures& own = figures_[at];
  const Figures& other = figures_[1 - at];
  return FitsBeside(own.requests, other.requests, more.requests, limits_.max_requests,
                    limits_.keep_shares) &&
         FitsBeside(own.bytes, other.bytes, more.bytes, limits_.max_bytes, limits_.keep_shares);
}

absl::Status Admission::Refusal(WorkKind kind, int64_t bytes) const {
  const int64_t requests = figures_[0].requests + figures_[1].requests;
  const int64_t held = figures_[0].bytes + figures_[1].bytes;
  const absl::Duration delay = std::clamp(mean_stay_, absl::Milliseconds(10), absl::Seconds(10));
  const int64_t delay_ms = absl::ToInt64Milliseconds(delay);
  return MakeError(
      Reason::kQueueFull,
      absl::StrCat("the server is full: ", requests, " requests with ", held,
                   " bytes are in flight, this one has ", bytes, " bytes, and the limits are ",
                   limits_.max_requests, " requests and ", limits_.max_bytes, " bytes",
                   limits_.keep_shares ? absl::StrCat(", an eighth of which is kept for ",
                                                      kind == WorkKind::kClip ? "texts" : "clips")
                                       : "",
                   "; try again in ", delay_ms, " ms"),
      {{"requests", absl::StrCat(requests)},
       {"bytes", absl::StrCat(held)},
       {"max_requests", absl::StrCat(limits_.max_requests)},
       {"max_bytes", absl::StrCat(limits_.max_bytes)},
       {"retry_delay_ms", absl::StrCat(delay_ms)}});
}

bool Admission::TryHold(int64_t bytes) {
  MutexLock lock(mu_);
  if (!Fits(WorkKind::kClip, {.bytes = bytes})) return false;
  of(WorkKind::kClip).bytes += bytes;
  return true;
}

void Admission::GiveBack(int64_t bytes) {
  MutexLock lock(mu_);
  of(WorkKind::kClip).bytes -= bytes;
}

void Admission::Drain() {
  MutexLock lock(mu_);
  draining_ = true;
}

Admission::Figures Admission::figures() const {
  MutexLock lock(mu_);
  return {.requests = figures_[0].requests + figures_[1].requests,
          .bytes = figures_[0].bytes + figures_[1].bytes};
}

}  // namespace scanline
