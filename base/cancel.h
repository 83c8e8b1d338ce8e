#pragma once

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/error.h"

namespace scanline {

// Whether anybody still waits for the work: a deadline and a flag that the client's cancellation
// raises. Copies share the flag. Every stage asks `Check` at its own step (each packet, each frame,
// each view), so that work whose client is gone stops wherever it is.
class Cancel {
 public:
  explicit Cancel(absl::Time deadline = absl::InfiniteFuture())
      : deadline_(deadline), cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

  absl::Time deadline() const { return deadline_; }
  void RequestCancel() const { cancelled_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_->load(std::memory_order_relaxed); }
  bool expired(absl::Time now = absl::Now()) const { return now >= deadline_; }

  // OK, CANCELLED, or an error of reason `expired_reason` (the stage's EXPIRED_IN_...).
  absl::Status Check(Reason expired_reason, absl::Time now = absl::Now()) const {
    if (cancelled()) return MakeError(Reason::kCancelled, "the client cancelled the request");
    if (expired(now)) {
      return MakeError(expired_reason, "the request's deadline passed before its work was done");
    }
    return absl::OkStatus();
  }

 private:
  absl::Time deadline_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace scanline
