#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "server/job.h"

namespace scanline {

struct BatchLimits {
  int max_requests = 8;
  int64_t max_tokens = 65'536;  // equivalents (server/cost.h); a larger request runs alone
};

struct QueueFigures {
  int64_t requests = 0;
  int64_t tokens = 0;     // equivalents, where known
  absl::Duration oldest;  // how long the first one has waited
};

// Which jobs run together, which come first, and which will never run. Pure: no thread, no clock,
// no lock.
//
// Clips and texts wait in a lane each and share the workers by start-time fair queueing (Goyal, Vin
// and Cheng, SIGCOMM 1996): the next batch is of the lane whose start tag is lowest, and a batch
// moves its lane's tag on by its cost. While both wait, what the two lanes got differs by at most
// one batch of each; a lane that was empty has no claim on the past. On a tie texts go first.
class BatchQueue {
 public:
  void Push(JobPtr job);

  // The oldest job of the lane whose turn it is and, in order, those of the same lane and model
  // that fit beside it. `pullers` is how many workers ask at this moment, this one included: each
  // takes its share, so that none stays idle beside a long batch. Empty only when the queue is.
  std::vector<JobPtr> Pop(const BatchLimits& limits, int pullers = 1);

  // Takes out the jobs that are cancelled or past their deadline.
  std::vector<JobPtr> TakeDead(absl::Time now);
  std::vector<JobPtr> TakeAll();
  JobPtr Take(const Upload* upload);  // the job that waits for it; null: none

  absl::Time next_deadline() const;  // of the jobs inside; InfiniteFuture when there is none
  bool empty() const { return texts_.jobs.empty() && clips_.jobs.empty(); }
  QueueFigures figures(absl::Time now) const;

 private:
  struct Lane {
    std::deque<JobPtr> jobs;  // oldest first; admission bounds its length
    int64_t start = 0;        // tag of its next batch, in token equivalents
  };
  Lane& NextLane();  // one that is not empty
  template <typename Wanted>
  std::vector<JobPtr> Extract(Wanted wanted);  // of both lanes

  Lane texts_;
  Lane clips_;
  int64_t virtual_time_ = 0;  // the start tag of the batch given out last
};

}  // namespace scanline
