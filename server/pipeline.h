#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/admission.h"
#include "server/batcher.h"
#include "server/decode_pool.h"
#include "server/metrics.h"
#include "server/request.h"
#include "server/worker_pool.h"

namespace scanline {

struct PipelineOptions {
  int decode_threads = 2;
  int workers = 2;
  BatchLimits batch;
  AdmissionLimits admission;
};

// The one path of every request: admission -> decode queue -> decode pool -> batch queue -> worker
// -> answer. Every stage hands the job on by moving it; Finish is the only way out, and records the
// figures of success and failure alike. docs/life_of_a_request.md walks through it.
class Pipeline {
 public:
  using Decode = std::function<absl::StatusOr<Clip>(const Request&)>;

  // `decode` runs on the decode threads; `metrics` is borrowed.
  Pipeline(const PipelineOptions& options, const ModelTable& models, Decode decode,
           Metrics* metrics);
  ~Pipeline();  // answers what is waiting with DRAINING, finishes what runs

  // Waits until every worker has its predictors and has run them once. Until then requests are
  // refused with MODEL_LOADING.
  absl::Status WaitReady();

  // Takes a request, or the error that its parsing gave, and calls `done` exactly once, from any
  // thread, maybe before it returns. Never blocks.
  void Submit(absl::StatusOr<Request> request, absl::Time received, Done done);

  // To call after Request::cancel was raised: waiting work of that client is answered at once.
  void Sweep();

  void Drain();  // new requests are refused with DRAINING; those inside go on
  bool ready() const { return ready_.load() && !draining_.load(); }
  bool draining() const { return draining_.load(); }
  std::string kernel() const { return workers_->kernel(); }
  Snapshot snapshot() const;

 private:
  absl::Status Admit(Job& job);
  void DecodeJob(JobPtr job);
  void RunBatch(Predictor& predictor, std::vector<JobPtr> batch);
  void Finish(JobPtr job, absl::StatusOr<Prediction> outcome);

  const PipelineOptions options_;
  const Decode decode_;
  Metrics* const metrics_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
  Admission admission_;
  Batcher decode_queue_;
  Batcher batch_queue_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<DecodePool> decoders_;
};

}  // namespace scanline
