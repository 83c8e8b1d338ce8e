#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "server/job.h"

namespace scanline {

struct BatchLimits {
  int max_requests = 8;
  int64_t max_tokens = 65'536;  // a larger request runs alone
};

struct QueueFigures {
  int64_t requests = 0;
  int64_t tokens = 0;
  absl::Duration oldest;  // how long the first one has waited
};

// Which jobs run together, and which will never run. Pure: no thread, no clock, no lock.
class BatchQueue {
 public:
  void Push(JobPtr job) { jobs_.push_back(std::move(job)); }

  // The oldest job and, in order, those of the same model that fit beside it. `pullers` is how many
  // workers ask at this moment, this one included: each takes its share, so that none stays idle
  // beside a long batch. Empty only when the queue is.
  std::vector<JobPtr> Pop(const BatchLimits& limits, int pullers = 1);

  // Takes out the jobs that are cancelled or past their deadline.
  std::vector<JobPtr> TakeDead(absl::Time now);
  std::vector<JobPtr> TakeAll();
  JobPtr Take(const Upload* upload);  // the job that waits for it; null: none

  absl::Time next_deadline() const;  // of the jobs inside; InfiniteFuture when there is none
  bool empty() const { return jobs_.empty(); }
  QueueFigures figures(absl::Time now) const;

 private:
  std::deque<JobPtr> jobs_;  // oldest first; admission bounds its length
};

}  // namespace scanline
