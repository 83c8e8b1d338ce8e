#include "server/batcher.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/check.h"
#include "base/error.h"

namespace scanline {

Batcher::Batcher(BatchLimits limits, OnDead on_dead)
    : limits_(limits), on_dead_(std::move(on_dead)), timer_thread_([this] { RunTimer(); }) {}

Batcher::~Batcher() {
  const std::vector<JobPtr> rest = Close();
  SCANLINE_CHECK(rest.empty());
  timer_thread_.join();
}

void Batcher::Push(JobPtr job) {
  {
    MutexLock lock(mu_);
    if (!closed_) {
      const bool nearer = job->request.cancel.deadline() < queue_.next_deadline();
      queue_.Push(std::move(job));
      work_.notify_one();
      if (nearer) timer_.notify_one();
      return;
    }
  }
  on_dead_(std::move(job), MakeError(Reason::kDraining, "the server stopped before the work began",
                                     {{"retry_delay_ms", "0"}}));
}

std::vector<JobPtr> Batcher::Pull() {
  MutexLock lock(mu_);
  ++pulling_;
  while (queue_.empty() && !closed_) work_.wait(lock.native());
  std::vector<JobPtr> batch = queue_.Pop(limits_, pulling_);
  --pulling_;
  return batch;
}

JobPtr Batcher::Take(const Upload* upload) {
  MutexLock lock(mu_);
  return queue_.Take(upload);
}

void Batcher::Sweep() {
  MutexLock lock(mu_);
  sweep_ = true;
  timer_.notify_one();
}

std::vector<JobPtr> Batcher::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  work_.notify_all();
  timer_.notify_one();
  return queue_.TakeAll();
}

QueueFigures Batcher::figures() const {
  MutexLock lock(mu_);
  return queue_.figures(absl::Now());
}

void Batcher::RunTimer() {
  while (true) {
    std::vector<JobPtr> dead;
    absl::Time now;
    {
      MutexLock lock(mu_);
      const absl::Time next = queue_.next_deadline();
      if (!closed_ && !sweep_) {
        if (next == absl::InfiniteFuture()) {
          timer_.wait(lock.native());
        } else {
          timer_.wait_until(lock.native(), absl::ToChronoTime(next));
        }
      }
      if (closed_) return;
      sweep_ = false;
      now = absl::Now();
      dead = queue_.TakeDead(now);
    }
    for (JobPtr& job : dead) {
      absl::Status why = job->request.cancel.Check(Reason::kExpiredInQueue, now);
      on_dead_(std::move(job), std::move(why));
    }
  }
}

}  // namespace scanline
