#include "tests/client/service_double.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/check.h"
#include "base/digest.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "scanline/v1/video_service.grpc.pb.h"

namespace scanline::testing {
namespace {

constexpr uint64_t kInlineLimit = 4 << 20;
constexpr uint64_t kUploadLimit = 64 << 20;

grpc::Status Error(grpc::StatusCode code, const std::string& reason, const std::string& message,
                   const std::string& field = "") {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("scanline");
  (*info.mutable_metadata())["who"] = "double";
  if (!field.empty()) (*info.mutable_metadata())["field"] = field;
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  details.add_details()->PackFrom(info);
  return grpc::Status(code, message, details.SerializeAsString());
}

void Milliseconds(int ms, google::protobuf::Duration* duration) {
  duration->set_seconds(ms / 1000);
  duration->set_nanos(ms % 1000 * 1'000'000);
}

template <typename Message>
void AddClasses(Message* message, bool running = false) {
  constexpr const char* kLabels[] = {"walking", "running, fast"};
  for (const float score : {0.91F, 0.05F}) {
    v1::ClassScore* answer = message->add_classes();
    answer->set_class_index(running ? 1 : 0);
    answer->set_label(kLabels[running ? 1 : 0]);
    answer->set_score(score);
    running = !running;
  }
}

v1::ClipResult Answer(bool running = false) {
  v1::ClipResult result;
  result.set_model("models/walker@1");
  AddClasses(&result, running);
  for (int i = 0; i < 16; ++i) {
    Milliseconds(31 + 62 * i, result.mutable_sampling()->add_frame_offsets());
    result.mutable_sampling()->add_frame_indices(static_cast<uint32_t>(i));
  }
  v1::Timing* timing = result.mutable_timing();
  Milliseconds(42, timing->mutable_decode());
  Milliseconds(1, timing->mutable_decode_queue());
  Milliseconds(2, timing->mutable_batch_queue());
  Milliseconds(118, timing->mutable_inference());
  Milliseconds(163, timing->mutable_total());
  return result;
}

v1::ClipResult WindowsAnswer() {
  v1::ClipResult result = Answer();
  for (int i = 0; i < 2; ++i) {
    v1::WindowResult* window = result.add_windows();
    Milliseconds(500 * i, window->mutable_start_offset());
    Milliseconds(500 * i + 1000, window->mutable_end_offset());
    AddClasses(window);
  }
  return result;
}

void AddVector(size_t bytes, int second, v1::Embedding* embedding) {
  embedding->add_values(static_cast<float>(bytes));
  embedding->add_values(static_cast<float>(second));
}

void AddVectors(size_t bytes, v1::ClipResult* result) {
  v1::Embedding* const whole = result->add_embeddings();
  AddVector(bytes, 1, whole);
  Milliseconds(1500, whole->mutable_end_offset());
  for (int i = 0; i < result->windows_size(); ++i) {
    AddVector(bytes, i, result->mutable_windows(i)->mutable_embedding());
  }
}

void AddDetection(const v1::BoundingBox& box, const char* label, uint32_t index, bool linked,
                  v1::ClipResult* result) {
  v1::ActionDetection* const detection = result->add_detections();
  *detection->mutable_box() = box;
  *detection->mutable_keyframe_offset() = box.time_offset();
  detection->set_person_score(0.75);
  detection->set_track_id(linked ? 1 : 0);
  v1::ClassScore* const action = detection->add_classes();
  action->set_class_index(index);
  action->set_label(label);
  action->set_score(0.9F);
}

// Within half a second, as the server does it: none in the half interval at either end.
std::vector<int> LooksOf(const v1::DetectOptions& asked) {
  if (!asked.has_keyframe_interval()) return {0, 120, 200};
  const int interval = static_cast<int>(asked.keyframe_interval().seconds() * 1000 +
                                        asked.keyframe_interval().nanos() / 1'000'000);
  std::vector<int> looks;
  for (int ms = interval; 2 * ms <= 2 * 500 - interval; ms += interval) looks.push_back(ms);
  if (looks.empty()) looks.push_back(250);
  return looks;
}

void AddDetections(const v1::DetectOptions& asked, const std::string& clip,
                   v1::ClipResult* result) {
  result->clear_classes();
  for (const v1::BoundingBox& box : asked.proposals()) {
    AddDetection(box, "running, fast", 2, asked.link_tracks(), result);
  }
  if (!asked.proposals().empty() || absl::StartsWith(clip, "nobody")) return;
  const std::vector<int> looks = LooksOf(asked);
  for (const int i : {0, 1}) {
    v1::BoundingBox box;
    Milliseconds(i == 0 ? looks.front() : looks.back(), box.mutable_time_offset());
    box.set_x_min(0.125F + 0.5F * static_cast<float>(i));
    box.set_x_max(box.x_min() + 0.25F);
    box.set_y_min(0.25F);
    box.set_y_max(0.75F);
    AddDetection(box, "walking", 1, asked.link_tracks(), result);
  }
  Milliseconds(500, result->mutable_sampling()->mutable_source_duration());
  for (const int ms : looks) {
    Milliseconds(ms, result->mutable_sampling()->add_keyframe_offsets());
    result->mutable_sampling()->add_keyframe_indices(static_cast<uint32_t>(ms / 40));
  }
}

class Videos final : public v1::VideoService::Service {
 public:
  grpc::Status AnalyzeClip(grpc::ServerContext* context, const v1::AnalyzeClipRequest* request,
                           v1::AnalyzeClipResponse* response) override {
    const int attempt = Enter(request->spec());
    if (on_clip) on_clip();
    grpc::Status status = Refused(request->spec());
    if (status.ok()) status = Reply(context, request->content(), attempt, response);
    for (const int task : request->spec().tasks()) {
      if (!status.ok()) continue;
      if (task == v1::TASK_EMBED) {
        AddVectors(request->content().size(), response->mutable_result());
      } else if (task == v1::TASK_DETECT_ACTIONS) {
        AddDetections(request->spec().detect(), request->content(), response->mutable_result());
        AddActions(request->spec().detect(), response->mutable_result());
      }
    }
    const std::lock_guard<std::mutex> lock(mu_);
    --under_way_;
    return status;
  }

  // Answers as to one message of the same words; "bad" and "busy" before the rest is read.
  grpc::Status UploadClip(grpc::ServerContext* context,
                          grpc::ServerReader<v1::UploadClipRequest>* reader,
                          v1::UploadClipResponse* response) override {
    v1::UploadClipRequest message;
    reader->Read(&message);
    const v1::UploadClipRequest::Start start = message.start();
    const int attempt = Enter(start.spec());
    std::string words;
    Digest digest;
    uint64_t bytes = 0;
    const auto refused = [&words] {
      return absl::StartsWith(words, "bad") || absl::StartsWith(words, "busy");
    };
    while (!refused() && reader->Read(&message)) {
      if (words.empty()) words = message.chunk().substr(0, 64);
      digest.Add(message.chunk());
      bytes += message.chunk().size();
    }
    while (absl::StartsWith(words, "busy") && attempt > 1 && reader->Read(&message)) {
    }
    if (on_clip) on_clip();
    v1::AnalyzeClipResponse answer;
    const grpc::Status status = Reply(context, words, attempt, &answer);
    if (status.ok() && start.spec().tasks_size() == 1 && start.spec().tasks(0) == v1::TASK_EMBED) {
      AddVectors(bytes, answer.mutable_result());
    }
    *response->mutable_result() = answer.result();
    const std::lock_guard<std::mutex> lock(mu_);
    --under_way_;
    last_upload_ = {bytes, start.content_bytes(), start.sha256() == digest.Finish()};
    return status;
  }

  // Of each text (its bytes, its place); "bad" and "busy N" of the first one as of a clip.
  grpc::Status EmbedText(grpc::ServerContext* context, const v1::EmbedTextRequest* request,
                         v1::EmbedTextResponse* response) override {
    v1::AnalysisSpec spec;
    spec.set_model(request->model());
    const int attempt = Enter(spec);
    v1::AnalyzeClipResponse unused;
    const grpc::Status status = Reply(context, request->texts(0), attempt, &unused);
    for (int i = 0; status.ok() && i < request->texts_size(); ++i) {
      v1::Embedding* const embedding = response->add_embeddings();
      embedding->add_values(static_cast<float>(request->texts(i).size()));
      embedding->add_values(static_cast<float>(i));
    }
    const std::lock_guard<std::mutex> lock(mu_);
    --under_way_;
    return status;
  }

  std::function<void()> on_clip;
  bool refuses_windows = false;
  int most_boxes = 1000;
  int actions = 1;
  mutable std::mutex mu_;
  int attempts_ = 0;
  int under_way_ = 0;
  int most_at_once_ = 0;
  v1::AnalysisSpec last_spec_;
  UploadSeen last_upload_;

 private:
  void AddActions(const v1::DetectOptions& asked, v1::ClipResult* result) const {
    const int most = asked.top_k() == 0 ? actions : std::min<int>(actions, asked.top_k());
    for (v1::ActionDetection& detection : *result->mutable_detections()) {
      while (detection.classes_size() < most) {
        const int place = detection.classes_size();
        v1::ClassScore* const action = detection.add_classes();
        action->set_class_index(static_cast<uint32_t>(place + 10));
        action->set_label("other");
        action->set_score(0.5F / static_cast<float>(place));
      }
    }
  }

  grpc::Status Refused(const v1::AnalysisSpec& spec) const {
    if (refuses_windows && spec.sampling().has_window()) {
      return Error(grpc::INVALID_ARGUMENT, "FIELD_INVALID", "sampling.window: not of this model");
    }
    if (spec.detect().proposals_size() > most_boxes) {
      return Error(grpc::INVALID_ARGUMENT, "FIELD_INVALID", "too many boxes",
                   "spec.detect.proposals");
    }
    return grpc::Status::OK;
  }

  int Enter(const v1::AnalysisSpec& spec) {
    const std::lock_guard<std::mutex> lock(mu_);
    last_spec_ = spec;
    most_at_once_ = std::max(most_at_once_, ++under_way_);
    return ++attempts_;
  }

  static grpc::Status Reply(grpc::ServerContext* context, const std::string& clip, int attempt,
                            v1::AnalyzeClipResponse* response) {
    if (absl::StartsWith(clip, "bad")) {
      return Error(grpc::INVALID_ARGUMENT, "VIDEO_UNREADABLE",
                   "no known container in the first 2.1 kB");
    }
    if (absl::StartsWith(clip, "task")) {
      return Error(grpc::FAILED_PRECONDITION, "TASK_UNSUPPORTED", "walker only classifies");
    }
    if (absl::StartsWith(clip, "auth")) {
      return Error(grpc::UNAUTHENTICATED, "AUTH_INVALID", "the token has expired");
    }
    if (absl::StartsWith(clip, "draining")) {
      return Error(grpc::UNAVAILABLE, "DRAINING", "the server is stopping");
    }
    int busy = 0;
    if (absl::StartsWith(clip, "busy ") && absl::SimpleAtoi(clip.substr(5, 1), &busy) &&
        attempt <= busy) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", "10");
      return Error(grpc::RESOURCE_EXHAUSTED, "QUEUE_FULL", "256 requests wait already");
    }
    if (absl::StartsWith(clip, "slow")) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    while (absl::StartsWith(clip, "stuck") && !context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    *response->mutable_result() =
        absl::StartsWith(clip, "windows") ? WindowsAnswer() : Answer(absl::StartsWith(clip, "run"));
    return grpc::Status::OK;
  }
};

class Models final : public v1::ModelService::Service {
 public:
  std::string weights = std::string(64, 'a');
  bool embeds = false;
  bool detects = false;

  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    *response->add_models() = Walker();
    return grpc::Status::OK;
  }

  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest* request,
                        v1::GetModelResponse* response) override {
    if (request->name() != "models/walker") {
      return Error(grpc::NOT_FOUND, "MODEL_NOT_FOUND", "no model " + request->name());
    }
    *response->mutable_model() = Walker();
    response->mutable_limits()->set_max_inline_bytes(kInlineLimit);
    response->mutable_limits()->set_max_upload_bytes(kUploadLimit);
    return grpc::Status::OK;
  }

 private:
  v1::Model Walker() const {
    v1::Model model;
    model.set_name("models/walker");
    model.set_version("1");
    model.set_state(v1::Model::STATE_READY);
    model.add_tasks(v1::TASK_CLASSIFY);
    if (embeds) {
      model.add_tasks(v1::TASK_EMBED);
      model.set_embedding_dim(2);
    }
    if (detects) model.add_tasks(v1::TASK_DETECT_ACTIONS);
    model.set_frame_count(16);
    model.set_input_size_px(224);
    model.set_score_kind(v1::SCORE_KIND_SOFTMAX);
    model.set_precision("fp32");
    model.set_weights_sha256(weights);
    model.add_labels("walking");
    model.add_labels("running, fast");
    return model;
  }
};

}  // namespace

struct ServiceDouble::Impl {
  Videos videos;
  Models models;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

ServiceDouble::ServiceDouble() : impl_(std::make_unique<Impl>()) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &impl_->port);
  builder.SetMaxReceiveMessageSize(32 << 20);
  builder.RegisterService(&impl_->videos);
  builder.RegisterService(&impl_->models);
  impl_->server = builder.BuildAndStart();
  SCANLINE_CHECK(impl_->server != nullptr && impl_->port > 0);
}

ServiceDouble::~ServiceDouble() { Shutdown(); }

ServerAddress ServiceDouble::address() const { return {"127.0.0.1", impl_->port, "test"}; }

void ServiceDouble::SetServing(bool serving) {
  impl_->server->GetHealthCheckService()->SetServingStatus(serving);
}

void ServiceDouble::SetWeights(const std::string& sha256) { impl_->models.weights = sha256; }

void ServiceDouble::SetEmbeds() { impl_->models.embeds = true; }

void ServiceDouble::OnClip(std::function<void()> hook) { impl_->videos.on_clip = std::move(hook); }

void ServiceDouble::RefuseWindows() { impl_->videos.refuses_windows = true; }

void ServiceDouble::SetActions(int count) { impl_->videos.actions = count; }

void ServiceDouble::SetMostBoxes(int most) { impl_->videos.most_boxes = most; }

void ServiceDouble::SetDetects() { impl_->models.detects = true; }

int ServiceDouble::attempts() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.attempts_;
}

int ServiceDouble::most_at_once() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.most_at_once_;
}

v1::AnalysisSpec ServiceDouble::last_spec() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.last_spec_;
}

UploadSeen ServiceDouble::last_upload() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.last_upload_;
}

void ServiceDouble::Shutdown() {
  if (impl_->server == nullptr) return;
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
  impl_->server.reset();
}

}  // namespace scanline::testing
