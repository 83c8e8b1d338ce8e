#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>

#include "base/error.h"
#include "server/metrics_process.h"

namespace scanline {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
using Labels = std::map<std::string, std::string>;
using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

const Buckets& SecondsBuckets() {
  static const Buckets kBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                   0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
  return kBuckets;
}

Buckets Powers(double first, double factor, double last) {
  Buckets buckets;
  for (double edge = first; edge <= last; edge *= factor) buckets.push_back(edge);
  return buckets;
}

std::string Outcome(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return "ok";
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return "client_error";
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return "shed";
    case absl::StatusCode::kDeadlineExceeded:
      return "expired";
    case absl::StatusCode::kCancelled:
      return "cancelled";
    default:
      return "error";
  }
}

std::string ReasonLabel(const absl::Status& status) {
  const auto reason = ReasonOf(status);
  return std::string(ReasonName(reason.value_or(Reason::kInternal)));
}

std::string StageLabel(Stage stage) {
  constexpr const char* kNames[] = {"receive", "decode_queue", "decode", "batch_queue",
                                    "inference"};
  return kNames[static_cast<int>(stage)];
}

}  // namespace

struct Metrics::Impl {
  Registry registry;

  Family<Counter>& CounterOf(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(registry);
  }
  Family<Gauge>& GaugeOf(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(registry);
  }
  Family<Histogram>& HistogramOf(const char* name, const char* help) {
    return BuildHistogram().Name(name).Help(help).Register(registry);
  }

  Family<Counter>& rpc_started = CounterOf("grpc_server_started_total", "RPCs begun.");
  Family<Counter>& rpc_handled = CounterOf("grpc_server_handled_total", "RPCs ended, by code.");
  Family<Histogram>& rpc_seconds =
      HistogramOf("grpc_server_handling_seconds", "From an RPC's start to its status.");

  Family<Counter>& requests =
      CounterOf("scanline_requests_total", "Requests ended, by model, task and outcome.");
  Family<Counter>& rejected =
      CounterOf("scanline_rejected_total",
                "Requests refused for the client's or the load's sake, by reason.");
  Family<Counter>& cancelled =
      CounterOf("scanline_cancelled_total", "Requests whose client went away, by stage.");
  Family<Histogram>& stage_seconds =
      HistogramOf("scanline_stage_duration_seconds", "Time in each stage of the path.");
  Family<Counter>& tokens = CounterOf("scanline_tokens_total", "Tokens answered, cls not counted.");
  Family<Counter>& texts = CounterOf("scanline_texts_total", "Texts encoded and answered.");
  Family<Counter>& text_tokens =
      CounterOf("scanline_text_tokens_total", "Words or word pieces of them.");
  Family<Counter>& frames_decoded =
      CounterOf("scanline_frames_decoded_total", "Frames that came out of the decoder.");
  Family<Counter>& decode_errors =
      CounterOf("scanline_decode_errors_total", "Requests that ended in decoding, by reason.");
  Family<Histogram>& clip_bytes = HistogramOf("scanline_clip_bytes", "Size of clips as received.");
  Family<Histogram>& clip_seconds =
      HistogramOf("scanline_clip_duration_seconds", "Length of decoded clips.");
  Family<Histogram>& clip_frames =
      HistogramOf("scanline_clip_frames_decoded", "Frames decoded for one request.");
  Family<Counter>& received_bytes =
      CounterOf("scanline_received_bytes_total", "Bytes of clips and texts received.");

  Family<Counter>& batches = CounterOf("scanline_batches_total", "Batches run.");
  Family<Histogram>& batch_requests =
      HistogramOf("scanline_batch_requests", "Requests that shared a batch.");
  Family<Histogram>& batch_tokens =
      HistogramOf("scanline_batch_tokens", "Token equivalents of a batch.");
  Family<Histogram>& batch_fill = HistogramOf(
      "scanline_batch_fill_ratio", "Requests of a batch over the most that may share one.");
  Family<Counter>& inference_seconds =
      CounterOf("scanline_inference_seconds_total", "Time that workers spent in the model.");
  Family<Counter>& wasted_seconds = CounterOf("scanline_wasted_inference_seconds_total",
                                              "The part of it whose result nobody took.");

  Family<Gauge>& queue_requests = GaugeOf("scanline_queue_requests", "Requests waiting.");
  Family<Gauge>& queue_tokens =
      GaugeOf("scanline_queue_tokens", "Their token equivalents, where known.");
  Family<Gauge>& queue_oldest =
      GaugeOf("scanline_queue_oldest_seconds", "How long the first of them has waited.");
  Gauge& inflight_requests =
      GaugeOf("scanline_inflight_requests", "Requests admitted and not yet answered.").Add({});
  Gauge& inflight_bytes =
      GaugeOf("scanline_inflight_bytes", "Bytes of clips and texts that they hold.").Add({});
  Gauge& streams_active =
      GaugeOf("scanline_streams_active", "Calls that send their input in pieces, now.").Add({});
  Family<Gauge>& upload_bytes =
      GaugeOf("scanline_upload_bytes", "Bytes that uploads keep, by place.");
  Gauge& decoders_busy = GaugeOf("scanline_decoders_busy", "Decode threads at work.").Add({});
  Gauge& workers_busy = GaugeOf("scanline_workers_busy", "Workers in the model.").Add({});
  Gauge& ready = GaugeOf("scanline_ready", "1: takes requests.").Add({});
  Gauge& draining = GaugeOf("scanline_draining", "1: on its way to stop.").Add({});
  Gauge& workers = GaugeOf("scanline_workers", "Forward passes that can run at a time.").Add({});
  Family<Gauge>& engine_info =
      GaugeOf("scanline_engine_info", "Always 1; the labels say what forward passes run on.");
  Family<Gauge>& build_info = GaugeOf("scanline_build_info", "Always 1; the labels say the build.");

  void SetQueue(const std::string& name, const QueueFigures& figures) {
    queue_requests.Add({{"queue", name}}).Set(static_cast<double>(figures.requests));
    queue_tokens.Add({{"queue", name}}).Set(static_cast<double>(figures.tokens));
    queue_oldest.Add({{"queue", name}}).Set(absl::ToDoubleSeconds(figures.oldest));
  }

  void ObserveStage(const std::string& stage, const std::optional<absl::Duration>& took) {
    if (!took.has_value()) return;
    stage_seconds.Add({{"stage", stage}}, SecondsBuckets()).Observe(absl::ToDoubleSeconds(*took));
  }
};

Metrics::Metrics(const InfoLabels& build, const std::vector<InfoLabels>& engines)
    : impl_(std::make_unique<Impl>()) {
  impl_->build_info.Add(Labels(build.begin(), build.end())).Set(1);
  for (const InfoLabels& engine : engines) {
    impl_->engine_info.Add(Labels(engine.begin(), engine.end())).Set(1);
  }
}

Metrics::~Metrics() = default;

void Metrics::RecordRequest(const RequestRecord& record) {
  Impl& m = *impl_;
  const std::string outcome = Outcome(record.status);
  m.requests.Add({{"model", record.model}, {"task", record.task}, {"outcome", outcome}})
      .Increment();
  if (outcome == "client_error" || outcome == "shed") {
    m.rejected.Add({{"reason", ReasonLabel(record.status)}}).Increment();
  }
  if (outcome == "cancelled") m.cancelled.Add({{"stage", StageLabel(record.stage)}}).Increment();
  if (record.stage == Stage::kDecode && !record.status.ok()) {
    m.decode_errors.Add({{"reason", ReasonLabel(record.status)}}).Increment();
  }
  m.ObserveStage("receive", record.timing.receive);
  m.ObserveStage("decode_queue", record.timing.decode_queue);
  m.ObserveStage("decode", record.timing.decode);
  m.ObserveStage("find_people", record.timing.find_people);
  m.ObserveStage("batch_queue", record.timing.batch_queue);
  m.ObserveStage("inference", record.timing.inference);
  if (record.input_bytes > 0) {
    const auto bytes = static_cast<double>(record.input_bytes);
    if (record.task != "embed_text") {
      m.clip_bytes.Add({}, Powers(65'536, 4, 1 << 30)).Observe(bytes);
    }
    m.received_bytes.Add({{"method", record.method}}).Increment(bytes);
  }
  if (!record.codec.empty()) {
    const auto frames = static_cast<double>(record.usage.frames_decoded);
    m.frames_decoded.Add({{"codec", record.codec}}).Increment(frames);
    m.clip_frames.Add({}, Powers(8, 2, 4096)).Observe(frames);
    m.clip_seconds.Add({}, Buckets{1, 2, 5, 10, 30, 60, 300, 900, 3600, 10'800})
        .Observe(record.clip_seconds);
  }
  if (record.status.ok()) {
    if (record.usage.texts > 0) {
      const Labels by = {{"model", record.model}, {"method", record.method}};
      m.texts.Add(by).Increment(static_cast<double>(record.usage.texts));
      m.text_tokens.Add(by).Increment(static_cast<double>(record.usage.text_tokens));
    }
    m.tokens.Add({{"model", record.model}}).Increment(static_cast<double>(record.usage.tokens));
  }
}

void Metrics::RecordBatch(const BatchRecord& record) {
  Impl& m = *impl_;
  const Labels model = {{"model", record.model}};
  m.batches.Add(model).Increment();
  m.batch_requests.Add(model, Powers(1, 2, 64)).Observe(record.requests);
  m.batch_tokens.Add(model, Powers(256, 2, 131'072)).Observe(static_cast<double>(record.tokens));
  m.batch_fill.Add(model, Buckets{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1})
      .Observe(record.fill_ratio);
  m.inference_seconds.Add(model).Increment(record.seconds);
  m.wasted_seconds.Add(model).Increment(record.wasted_seconds);
}

void Metrics::RecordRpcStarted(const RpcName& rpc) {
  impl_->rpc_started
      .Add({{"grpc_service", rpc.service}, {"grpc_method", rpc.method}, {"grpc_type", rpc.type}})
      .Increment();
}

void Metrics::RecordRpcHandled(const RpcName& rpc, absl::string_view code, absl::Duration took) {
  impl_->rpc_handled
      .Add({{"grpc_service", rpc.service},
            {"grpc_method", rpc.method},
            {"grpc_type", rpc.type},
            {"grpc_code", std::string(code)}})
      .Increment();
  impl_->rpc_seconds
      .Add({{"grpc_service", rpc.service}, {"grpc_method", rpc.method}}, SecondsBuckets())
      .Observe(absl::ToDoubleSeconds(took));
}

std::string Metrics::Render(const Snapshot& now) {
  Impl& m = *impl_;
  m.SetQueue("upload", now.upload_queue);
  m.SetQueue("decode", now.decode_queue);
  m.SetQueue("batch", now.batch_queue);
  m.inflight_requests.Set(static_cast<double>(now.inflight.requests));
  m.inflight_bytes.Set(static_cast<double>(now.inflight.bytes));
  m.streams_active.Set(static_cast<double>(now.uploads.uploads));
  m.upload_bytes.Add({{"place", "memory"}}).Set(static_cast<double>(now.uploads.memory_bytes));
  m.upload_bytes.Add({{"place", "file"}}).Set(static_cast<double>(now.uploads.file_bytes));
  m.decoders_busy.Set(now.decoders_busy);
  m.workers.Set(now.workers);
  m.workers.Set(now.workers);
  m.workers_busy.Set(now.workers_busy);
  m.ready.Set(now.ready ? 1 : 0);
  m.draining.Set(now.draining ? 1 : 0);
  std::vector<prometheus::MetricFamily> families = m.registry.Collect();
  for (prometheus::MetricFamily& family : CollectProcessMetrics()) {
    families.push_back(std::move(family));
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

}  // namespace scanline
