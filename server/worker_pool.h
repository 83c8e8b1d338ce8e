#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "model/predictor.h"
#include "server/batcher.h"
#include "server/served_model.h"

namespace scanline {

// One thread a worker. Each makes its own predictor of every model in its own thread, runs it once
// (the first pass pays for pages, plans and pools), and then pulls batches until the queue is
// closed.
class WorkerPool {
 public:
  using Run = std::function<void(Predictor&, std::vector<JobPtr>)>;

  WorkerPool(int workers, std::vector<ModelPtr> models, Batcher* queue, Run run);
  ~WorkerPool();  // joins: the queue must be closed

  // Waits until every worker pulls, or returns the first error; then no work is done.
  absl::Status WaitReady();

  int size() const { return workers_; }
  int busy() const { return busy_.load(std::memory_order_relaxed); }

 private:
  void RunWorker(int worker);
  void Report(const absl::Status& status);

  const int workers_;
  const std::vector<ModelPtr> models_;
  Batcher* const queue_;
  const Run run_;
  std::atomic<int> busy_{0};
  mutable Mutex mu_;
  CondVar reported_;
  int started_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace scanline
