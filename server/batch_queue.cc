#include "server/batch_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scanline {
namespace {

// Moves the jobs for which `wanted` is true from `jobs` to `taken`, keeping the order of both.
template <typename Wanted>
void MoveOut(std::deque<JobPtr>& jobs, Wanted wanted, std::vector<JobPtr>* taken) {
  std::deque<JobPtr> left;
  for (JobPtr& job : jobs) {
    if (wanted(*job)) {
      taken->push_back(std::move(job));
    } else {
      left.push_back(std::move(job));
    }
  }
  jobs = std::move(left);
}

}  // namespace

template <typename Wanted>
std::vector<JobPtr> BatchQueue::Extract(Wanted wanted) {
  std::vector<JobPtr> taken;
  MoveOut(texts_.jobs, wanted, &taken);
  MoveOut(clips_.jobs, wanted, &taken);
  return taken;
}

void BatchQueue::Push(JobPtr job) {
  Lane& lane = job->kind() == WorkKind::kClip ? clips_ : texts_;
  if (lane.jobs.empty()) lane.start = std::max(lane.start, virtual_time_);
  lane.jobs.push_back(std::move(job));
}

BatchQueue::Lane& BatchQueue::NextLane() {
  if (texts_.jobs.empty()) return clips_;
  if (clips_.jobs.empty()) return texts_;
  return texts_.start <= clips_.start ? texts_ : clips_;
}

std::vector<JobPtr> BatchQueue::Pop(const BatchLimits& limits, int pullers) {
  if (empty()) return {};
  Lane& lane = NextLane();
  const auto waiting = static_cast<int64_t>(lane.jobs.size());
  const int64_t share = (waiting + pullers - 1) / std::max(pullers, 1);
  const int64_t most = std::clamp<int64_t>(share, 1, std::max(limits.max_requests, 1));
  const ServedModel* const model = lane.jobs.front()->request.model.get();
  int64_t requests = 0;
  int64_t cost = 0;
  std::vector<JobPtr> batch;
  const auto fits = [&](const Job& job) {
    if (job.request.model.get() != model) return false;
    if (requests > 0 && (requests >= most || cost + job.cost > limits.max_tokens)) return false;
    requests += 1;
    cost += job.cost;
    return true;
  };
  MoveOut(lane.jobs, fits, &batch);
  virtual_time_ = lane.start;
  lane.start += cost;
  return batch;
}

std::vector<JobPtr> BatchQueue::TakeDead(absl::Time now) {
  return Extract([now](const Job& job) {
    return job.request.cancel.cancelled() || job.request.cancel.expired(now);
  });
}

std::vector<JobPtr> BatchQueue::TakeAll() {
  return Extract([](const Job&) { return true; });
}

JobPtr BatchQueue::Take(const Upload* upload) {
  std::vector<JobPtr> taken = Extract([upload](const Job& job) {
    const UploadPtr* const own = job.request.upload();
    return own != nullptr && own->get() == upload;
  });
  return taken.empty() ? nullptr : std::move(taken.front());
}

absl::Time BatchQueue::next_deadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const Lane* lane : {&texts_, &clips_}) {
    for (const JobPtr& job : lane->jobs) next = std::min(next, job->request.cancel.deadline());
  }
  return next;
}

QueueFigures BatchQueue::figures(absl::Time now) const {
  QueueFigures figures;
  for (const Lane* lane : {&texts_, &clips_}) {
    for (const JobPtr& job : lane->jobs) {
      figures.requests += 1;
      figures.tokens += job->cost;
      figures.oldest = std::max(figures.oldest, now - job->entered);
    }
  }
  return figures;
}

}  // namespace scanline
