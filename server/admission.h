#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace scanline {

struct AdmissionLimits {
  int64_t max_requests = 256;
  int64_t max_bytes = int64_t{256} << 20;  // of clips in flight: as received, then as decoded
};

// The one place where work is let in or refused: whatever is in flight anywhere in the server holds
// a ticket of it, so nothing behind it queues without bound. Thread-safe; never waits.
class Admission {
 public:
  // A place in flight; gives it back when destroyed.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { Release(absl::Now()); }

    // The request now holds `bytes` instead (decoded pictures for the container's bytes). Never
    // refused: what was admitted may finish.
    void Resize(int64_t bytes);
    void Release(absl::Time now);

   private:
    friend class Admission;
    Ticket(Admission* owner, int64_t bytes, absl::Time since)
        : owner_(owner), bytes_(bytes), since_(since) {}

    Admission* owner_ = nullptr;
    int64_t bytes_ = 0;
    absl::Time since_;
  };

  struct Figures {
    int64_t requests = 0;
    int64_t bytes = 0;
  };

  explicit Admission(AdmissionLimits limits) : limits_(limits) {}

  // Errors: QUEUE_FULL, with "retry_delay_ms" (how long the present queue will take, from how long
  // requests took lately) among its metadata; DRAINING.
  absl::StatusOr<Ticket> Admit(int64_t bytes, absl::Time now);

  // Bytes of a clip that is still arriving, beside what its ticket holds. False: they would pass
  // the limit. Give each back.
  bool TryHold(int64_t bytes);
  void GiveBack(int64_t bytes);

  void Drain();  // from now on every Admit is DRAINING
  Figures figures() const;

 private:
  absl::Status Refusal(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const AdmissionLimits limits_;
  mutable Mutex mu_;
  Figures figures_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  // Mean time in flight of late requests, each weighing an eighth.
  absl::Duration mean_stay_ ABSL_GUARDED_BY(mu_) = absl::Milliseconds(100);
};

}  // namespace scanline
