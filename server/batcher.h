#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/batch_queue.h"

namespace scanline {

// A BatchQueue with threads around it: workers wait in Pull, and a timer thread takes out what is
// cancelled or past its deadline at that moment, whether or not a worker comes. The decode pool's
// queue is one with batches of one, and so is the one in which jobs of uploads wait. Its length is
// bounded by Admission.
class Batcher {
 public:
  // Answers a job that died here: CANCELLED or EXPIRED_IN_QUEUE. Called outside the lock.
  using OnDead = std::function<void(JobPtr, absl::Status)>;

  Batcher(BatchLimits limits, OnDead on_dead);
  ~Batcher();  // Close, whose rest must have been taken, and the timer thread's end.
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  void Push(JobPtr job);

  // Waits for work: as soon as there is any, the batch that BatchQueue::Pop decides. Empty: closed.
  std::vector<JobPtr> Pull();

  // Takes out the job of an upload; null: it is not here (any more).
  JobPtr Take(const Upload* upload);

  // A job may have been cancelled: the timer thread looks now. Does not block.
  void Sweep();

  // Wakes every Pull with nothing; hands over what was waiting. A later Push is handed to OnDead as
  // DRAINING.
  std::vector<JobPtr> Close();

  QueueFigures figures() const;

 private:
  void RunTimer();

  const BatchLimits limits_;
  const OnDead on_dead_;
  mutable Mutex mu_;
  CondVar work_;   // a job came, or closed
  CondVar timer_;  // a deadline came nearer, Sweep, or closed
  BatchQueue queue_ ABSL_GUARDED_BY(mu_);
  int pulling_ ABSL_GUARDED_BY(mu_) = 0;
  bool sweep_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::thread timer_thread_;  // last: it uses all of the above
};

}  // namespace scanline
