#pragma once

#include <array>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace scanline {

// What competes for the workers: a request with a clip, or texts alone (EmbedText).
enum class WorkKind { kClip, kTexts };

struct AdmissionLimits {
  int64_t max_requests = 256;
  int64_t max_bytes = int64_t{256} << 20;  // in flight: of clips as received, then as decoded, and
                                           // of texts
  // Keeps an eighth of both for either kind of work, so that a flood of one is not refusal of the
  // other. For servers that take texts.
  bool keep_shares = false;
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
    Ticket(Admission* owner, WorkKind kind, int64_t bytes, absl::Time since)
        : owner_(owner), kind_(kind), bytes_(bytes), since_(since) {}

    Admission* owner_ = nullptr;
    WorkKind kind_ = WorkKind::kClip;
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
  absl::StatusOr<Ticket> Admit(int64_t bytes, absl::Time now, WorkKind kind = WorkKind::kClip);

  // Bytes of a clip that is still arriving, beside what its ticket holds. False: they would pass
  // the limit. Give each back.
  bool TryHold(int64_t bytes);
  void GiveBack(int64_t bytes);

  void Drain();             // from now on every Admit is DRAINING
  Figures figures() const;  // of both kinds

 private:
  Figures& of(WorkKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return figures_[static_cast<size_t>(kind)];
  }
  bool Fits(WorkKind kind, Figures more) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Refusal(WorkKind kind, int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const AdmissionLimits limits_;
  mutable Mutex mu_;
  std::array<Figures, 2> figures_ ABSL_GUARDED_BY(mu_);  // one a WorkKind
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  // Mean time in flight of late requests, each weighing an eighth.
  absl::Duration mean_stay_ ABSL_GUARDED_BY(mu_) = absl::Milliseconds(100);
};

}  // namespace scanline
