#include "server/app.h"

#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/rpc_metrics.h"
#include "server/to_proto.h"
#include "server/version.h"

namespace scanline {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// How far the transport's limit lies above the application's, so that the application answers.
constexpr int64_t kTransportMargin = 8 * kMiB;

int OrCores(int count) {
  return count > 0 ? count : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int WorkersOf(const Settings& s, const ModelTable& models) {
  const ServedModel& model = *models.all().front();
  if (model.engine.device != "cpu") return static_cast<int>(model.devices.size());
  return s.workers > 0 ? s.workers : std::max(1, OrCores(0) / s.threads);
}

PipelineOptions PipelineOptionsOf(const Settings& s, const ModelTable& models) {
  const int decode_threads = OrCores(s.decode_threads);
  const int half = std::max(1, decode_threads / 2);
  return {.decode_threads = decode_threads,
          .upload_decode_threads = s.upload_decode_threads > 0 ? s.upload_decode_threads : half,
          .workers = WorkersOf(s, models),
          .batch = {.max_requests = s.max_batch, .max_tokens = s.max_batch_tokens},
          .admission = {.max_requests = s.max_requests, .max_bytes = s.max_inflight_mib * kMiB},
          .upload = {.max_bytes = s.max_upload_mib * kMiB,
                     .memory_bytes = s.upload_memory_mib * kMiB,
                     .total_bytes = s.max_upload_total_mib * kMiB,
                     .spill_folder = s.upload_dir}};
}

std::vector<InfoLabels> EnginesOf(const std::vector<ModelPtr>& models) {
  std::vector<InfoLabels> engines;
  for (const ModelPtr& model : models) {
    const EngineInfo& engine = model->engine;
    engines.push_back({{"model", model->full_name()},
                       {"device", absl::StrJoin(model->devices, ",")},
                       {"kernel", engine.kernel},
                       {"precision", engine.precision},
                       {"threads", absl::StrCat(engine.threads)}});
  }
  return engines;
}

RequestLimits RequestLimitsOf(const Settings& s) {
  return {.max_inline_bytes = s.max_clip_mib * kMiB,
          .max_upload_bytes = s.max_upload_mib * kMiB,
          .max_pixels = s.max_pixels,
          .max_texts = s.max_texts,
          .max_text_bytes = s.max_text_bytes,
          .max_boxes = s.max_boxes};
}

v1::ServerLimits LimitsOf(const Settings& s) {
  v1::ServerLimits limits;
  limits.set_max_inline_bytes(static_cast<uint64_t>(s.max_clip_mib * kMiB));
  limits.set_max_upload_bytes(static_cast<uint64_t>(s.max_upload_mib * kMiB));
  limits.set_max_pixels_per_frame(static_cast<uint64_t>(s.max_pixels));
  limits.set_max_texts(static_cast<uint32_t>(s.max_texts));
  limits.set_max_text_bytes(static_cast<uint32_t>(s.max_text_bytes));
  *limits.mutable_max_clip_duration() = ToProto(absl::Seconds(s.max_clip_seconds));
  *limits.mutable_max_deadline() = ToProto(absl::Seconds(s.max_deadline));
  return limits;
}

// What keeps a client from hurting the server by the transport alone: notes in docs/operations.md.
void Harden(const Settings& settings, grpc::ServerBuilder& builder) {
  const int64_t largest = settings.max_clip_mib * kMiB + kTransportMargin;
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<int64_t>(largest, INT32_MAX)));
  // gRPC inflates a message before it looks at its size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
  // Without this a second server could share the port unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 9'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Messages on their way in, before admission sees them.
  grpc::ResourceQuota quota("scanline");
  quota.Resize(static_cast<size_t>(2 * settings.max_inflight_mib * kMiB + 64 * kMiB));
  builder.SetResourceQuota(quota);
}

}  // namespace

App::App(const Settings& settings, std::vector<ModelPtr> models, Pipeline::Decode decode)
    : models_(std::move(models)),
      metrics_(InfoLabels{{"version", kVersion}}, EnginesOf(models_.all())),
      pipeline_(PipelineOptionsOf(settings, models_), models_, std::move(decode), &metrics_),
      upload_thread_(std::make_unique<TaskThread>()),
      video_service_(
          &pipeline_, &models_, RequestLimitsOf(settings),
          {.none_given = absl::Seconds(settings.default_deadline),
           .most = absl::Seconds(settings.max_deadline)},
          {.max_streams = settings.max_streams, .idle = absl::Seconds(settings.idle_timeout)},
          upload_thread_.get()),
      model_service_(&pipeline_, &models_, LimitsOf(settings)) {}

absl::StatusOr<std::unique_ptr<App>> App::Start(const Settings& settings,
                                                std::vector<ModelPtr> models,
                                                Pipeline::Decode decode) {
  std::unique_ptr<App> app(new App(settings, std::move(models), std::move(decode)));
  if (absl::Status status = app->Listen(settings); !status.ok()) return status;
  return app;
}

App::~App() {
  ops_.reset();
  if (server_ == nullptr) return;
  health_.EndWatches();
  pipeline_.Drain();
  if (!shutdown_.joinable()) {
    server_->Shutdown(std::chrono::system_clock::now());
  } else {
    CutStreams();
    shutdown_.join();
  }
  server_->Wait();
}

absl::Status App::Listen(const Settings& settings) {
  grpc::EnableDefaultHealthCheckService(false);
  if (settings.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  Harden(settings, builder);
  builder.AddListeningPort(settings.listen, grpc::InsecureServerCredentials(), &grpc_port_);
  builder.RegisterService(&health_);
  builder.RegisterService(&video_service_);
  builder.RegisterService(&model_service_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(MakeRpcMetrics(&metrics_));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || grpc_port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", settings.listen, " for gRPC; is it taken?"));
  }
  auto ops = OpsHttp::Start(settings.ops_listen,
                            [this](const std::string& path) { return AnswerOps(path); });
  if (!ops.ok()) return ops.status();
  ops_ = *std::move(ops);
  return absl::OkStatus();
}

absl::Status App::WaitReady() {
  if (absl::Status status = pipeline_.WaitReady(); !status.ok()) return status;
  started_.store(true);
  serving_.store(true);
  health_.SetServing(true);
  return absl::OkStatus();
}

void App::SayNotServing() {
  serving_.store(false);
  health_.SetServing(false);
}

void App::StopAccepting() {
  health_.EndWatches();
  // In a thread of its own: it returns when the last call is done. Sends GOAWAY first, so that
  // clients open new calls elsewhere; what still slips in is answered DRAINING.
  shutdown_ = std::thread([this] {
    server_->Shutdown();
    shut_down_.store(true);
  });
  pipeline_.Drain();
}

bool App::Finished() { return shut_down_.load(); }

void App::CutStreams() { grpc_server_cancel_all_calls(server_->c_server()); }

HttpAnswer App::AnswerOps(const std::string& path) {
  const auto yes_or_no = [](bool yes, const char* no) {
    return HttpAnswer{.status = yes ? 200 : 503, .body = yes ? "ok\n" : no};
  };
  if (path == "/metrics") {
    Snapshot now = pipeline_.snapshot();
    now.ready = serving_.load() && now.ready;
    now.draining = started_.load() && !serving_.load();
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics_.Render(now)};
  }
  if (path == "/livez") return yes_or_no(true, "");
  if (path == "/readyz") return yes_or_no(serving_.load(), "not ready\n");
  if (path == "/startupz") return yes_or_no(started_.load(), "starting\n");
  return {.status = 404, .body = "pages: /metrics /livez /readyz /startupz\n"};
}

}  // namespace scanline
