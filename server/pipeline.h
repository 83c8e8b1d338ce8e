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
  int upload_decode_threads = 1;  // of clips that are still arriving
  int workers = 2;
  BatchLimits batch;
  AdmissionLimits admission;
  UploadLimits upload;
};

// The one path of every request: admission -> decode queue -> decode pool -> batch queue -> worker
// -> answer. Texts alone go to the batch queue at once. An upload's job waits in a queue of its own
// until its bytes are complete or one of the few threads that decode arriving clips is free. Every
// stage hands the job on by moving it; Finish is the only way out, and records the figures of
// success and failure alike. docs/life_of_a_request.md walks through it.
class Pipeline {
 public:
  using Decode = std::function<absl::StatusOr<DecodedClip>(const Request&)>;

  // `decode` runs on the decode threads; `metrics` is borrowed.
  Pipeline(const PipelineOptions& options, const ModelTable& models, Decode decode,
           Metrics* metrics);
  ~Pipeline();  // answers what is waiting with DRAINING, finishes what runs

  // Waits until every worker has its predictors and has run them once. Until then requests are
  // refused with MODEL_LOADING.
  absl::Status WaitReady();

  // Takes a request, or the error that its parsing gave, and calls `done` exactly once, from any
  // thread, maybe before it returns. Never blocks.
  // `method` is the RPC's name, for the figures.
  void Submit(absl::StatusOr<Request> request, absl::Time received, Done done,
              std::string method = "AnalyzeClip");

  // The bytes of an upload, for Request::input.
  UploadPtr NewUpload(UploadClaim claim, const Cancel& cancel);
  // To call when the last byte of a submitted upload has come, or when it has failed.
  void UploadOver(const Upload* upload);

  // To call when the device is gone (any thread, once): see device_lost.
  void OnDeviceLost(std::function<void()> tell) { tell_device_lost_ = std::move(tell); }
  // A worker's device is gone: new requests are refused with DEVICE_LOST.
  bool device_lost() const { return device_lost_.load(); }

  // To call after Request::cancel was raised: waiting work of that client is answered at once.
  void Sweep();

  void Drain();  // new requests are refused with DRAINING; those inside go on
  bool ready() const { return ready_.load() && !draining_.load() && !device_lost_.load(); }
  bool draining() const { return draining_.load(); }
  Snapshot snapshot() const;

 private:
  absl::Status Admit(Job& job);
  absl::StatusOr<DecodedClip> DecodeInput(const Job& job);
  void DecodeJob(JobPtr job);
  void QueueForBatch(JobPtr job);
  void RunBatch(Predictor& predictor, std::vector<JobPtr> batch);
  void LoseDevice();
  void Finish(JobPtr job, absl::StatusOr<Prediction> outcome);

  const PipelineOptions options_;
  const Decode decode_;
  Metrics* const metrics_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> device_lost_{false};
  std::function<void()> tell_device_lost_;
  Admission admission_;
  UploadBudget upload_budget_;
  Batcher upload_queue_;
  Batcher decode_queue_;
  Batcher batch_queue_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<DecodePool> decoders_;
  std::unique_ptr<DecodePool> upload_decoders_;
};

}  // namespace scanline
