#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/batch_queue.h"
#include "server/job.h"

namespace scanline {

// What one finished request leaves behind, whatever its end.
struct RequestRecord {
  std::string model;  // "" where it was refused before its model was known
  absl::Status status;
  Stage stage = Stage::kReceive;  // the last one it came to
  Timing timing;
  Usage usage;
  std::string codec;  // "" where nothing was decoded
  double clip_seconds = 0;
  int64_t input_bytes = 0;
  std::string method = "AnalyzeClip";  // the RPC
  std::string task;                    // "classify+embed"; "embed_text"; "": refused before known
};

struct BatchRecord {
  std::string model;
  int requests = 0;
  int64_t tokens = 0;  // equivalents (server/cost.h)
  double seconds = 0;
  double wasted_seconds = 0;  // the share of results that nobody waited for any more
  double fill_ratio = 0;      // requests / the most that may run together
};

// What is true at the moment of a scrape.
struct Snapshot {
  Admission::Figures inflight;
  UploadBudget::Figures uploads;
  QueueFigures upload_queue;  // jobs whose bytes are still arriving and that no decoder has begun
  QueueFigures decode_queue;
  QueueFigures batch_queue;
  int decoders_busy = 0;
  int workers = 0;
  int workers_busy = 0;
  bool ready = false;
  bool draining = false;
};

struct RpcName {
  std::string service;  // "scanline.v1.VideoService"
  std::string method;   // "AnalyzeClip"
  std::string type;     // "unary", "client_stream", "server_stream", "bidi_stream"
};

using InfoLabels = std::vector<std::pair<std::string, std::string>>;

// The server's figures in Prometheus' words (docs/operations.md lists them). Thread-safe.
class Metrics {
 public:
  // `build` are the labels of scanline_build_info, `engines` those of scanline_engine_info.
  explicit Metrics(const InfoLabels& build = {}, const std::vector<InfoLabels>& engines = {});
  ~Metrics();

  void RecordRequest(const RequestRecord& record);
  void RecordBatch(const BatchRecord& record);
  void RecordRpcStarted(const RpcName& rpc);
  void RecordRpcHandled(const RpcName& rpc, absl::string_view code, absl::Duration took);

  // The text exposition format, version 0.0.4.
  std::string Render(const Snapshot& now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scanline
