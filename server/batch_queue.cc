#include "server/batch_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace scanline {
namespace {

// Moves the jobs for which `wanted` is true out of `jobs`, keeping the order of both.
template <typename Wanted>
std::vector<JobPtr> Extract(std::deque<JobPtr>& jobs, Wanted wanted) {
  std::vector<JobPtr> taken;
  std::deque<JobPtr> left;
  for (JobPtr& job : jobs) {
    if (wanted(*job)) {
      taken.push_back(std::move(job));
    } else {
      left.push_back(std::move(job));
    }
  }
  jobs = std::move(left);
  return taken;
}

}  // namespace

std::vector<JobPtr> BatchQueue::Pop(const BatchLimits& limits, int pullers) {
  if (jobs_.empty()) return {};
  const auto waiting = static_cast<int64_t>(jobs_.size());
  const int64_t share = (waiting + pullers - 1) / std::max(pullers, 1);
  const int64_t most = std::clamp<int64_t>(share, 1, std::max(limits.max_requests, 1));
  const ServedModel* const model = jobs_.front()->request.model.get();
  int64_t requests = 0;
  int64_t tokens = 0;
  return Extract(jobs_, [&](const Job& job) {
    const bool fits = requests < most && tokens + job.tokens <= limits.max_tokens;
    if (job.request.model.get() != model || (requests > 0 && !fits)) return false;
    requests += 1;
    tokens += job.tokens;
    return true;
  });
}

std::vector<JobPtr> BatchQueue::TakeDead(absl::Time now) {
  return Extract(jobs_, [now](const Job& job) {
    return job.request.cancel.cancelled() || job.request.cancel.expired(now);
  });
}

std::vector<JobPtr> BatchQueue::TakeAll() {
  return Extract(jobs_, [](const Job&) { return true; });
}

JobPtr BatchQueue::Take(const Upload* upload) {
  std::vector<JobPtr> taken = Extract(jobs_, [upload](const Job& job) {
    const auto* own = std::get_if<UploadPtr>(&job.request.input);
    return own != nullptr && own->get() == upload;
  });
  return taken.empty() ? nullptr : std::move(taken.front());
}

absl::Time BatchQueue::next_deadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const JobPtr& job : jobs_) next = std::min(next, job->request.cancel.deadline());
  return next;
}

QueueFigures BatchQueue::figures(absl::Time now) const {
  QueueFigures figures;
  for (const JobPtr& job : jobs_) {
    figures.requests += 1;
    figures.tokens += job->tokens;
    figures.oldest = std::max(figures.oldest, now - job->entered);
  }
  return figures;
}

}  // namespace scanline
