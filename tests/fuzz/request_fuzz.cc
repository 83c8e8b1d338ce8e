#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "decode/sampling_plan.h"
#include "scanline/v1/video_service.pb.h"
#include "server/cost.h"
#include "server/from_proto.h"

namespace scanline {
namespace {

ModelPtr MakeModel(const std::string& name, const FrameSpec& spec) {
  auto model = std::make_shared<ServedModel>();
  model->config.name = name;
  model->config.version = "1";
  model->config.tasks = {"classify"};
  model->config.frame_spec = spec;
  return model;
}

// One that takes texts, with fusion layers: every field of the messages can matter.
ModelPtr MakeTextModel(const FrameSpec& spec) {
  auto model = std::make_shared<ServedModel>(*MakeModel("texts", spec));
  model->config.tasks = {"classify", "embed", "match"};
  model->config.embed = EmbedConfig{.dim = 4, .prompts = {"{}", "a video of {}, {}"}};
  model->config.text_tower = TextTowerConfig{.type = TextTowerType::kBert,
                                             .dim = 8,
                                             .depth = 1,
                                             .fusion_depth = 1,
                                             .heads = 2,
                                             .intermediate = 16,
                                             .max_length = 16};
  return model;
}

// One of boxes, with somebody who finds people.
ModelPtr MakeDetectModel(const FrameSpec& spec) {
  auto model = std::make_shared<ServedModel>(*MakeModel("people", spec));
  model->config.tasks = {"classify", "detect"};
  model->config.detect = DetectConfig{.labels = {"walks"}, .box_frame = 1};
  model->find_people = [](const FullFrame&, float) -> absl::StatusOr<std::vector<PersonBox>> {
    return std::vector<PersonBox>();
  };
  return model;
}

// One whose own rule has windows, as the default model's has, and one of Kinetics' views.
const ModelTable& Models() {
  static const auto* const kModels = [] {
    FrameSpec windows;
    windows.sampling = {.rule = SamplingRule::kWindow,
                        .frames = 2,
                        .window_seconds = 1,
                        .stride_seconds = 0.5,
                        .single_up_to_seconds = 2};
    windows.resize = ResizeRule::kCentreSquareArea;
    FrameSpec views;
    views.sampling = {.rule = SamplingRule::kK400Sparse, .frames = 4, .temporal_views = 4};
    views.spatial_views = 3;
    return new ModelTable({MakeModel("windows", windows), MakeModel("views", views),
                           MakeTextModel(views), MakeDetectModel(windows)});
  }();
  return *kModels;
}

// Ten seconds at 10 frames a second.
const Timeline& TenSeconds() {
  static const auto* const kTimeline = [] {
    auto* timeline = new Timeline;
    for (int i = 0; i < 100; ++i) timeline->start.push_back(i * 0.1);
    timeline->end = 10;
    return timeline;
  }();
  return *kTimeline;
}

void CheckRefusal(const absl::Status& status) {
  const auto reason = ReasonOf(status);
  SCANLINE_CHECK(reason.has_value() && *reason != Reason::kInternal);
  SCANLINE_CHECK(!status.message().empty());
}

// What is accepted must be in reach of the stages behind: the decoder's own checks take it, and it
// can be planned, or the clip lacks the stretch that it asks for.
void CheckSpec(const Request& request) {
  SCANLINE_CHECK(request.model != nullptr);
  SCANLINE_CHECK(request.answer.top_k > 0);
  SCANLINE_CHECK(request.answer.min_score >= 0 && request.answer.min_score <= 1);
  const SamplingSpec& sampling = request.frame_spec.sampling;
  SCANLINE_CHECK(ValidateSampling(sampling).ok());
  const auto plan = PlanFrames(sampling, TenSeconds());
  if (!plan.ok()) return CheckRefusal(plan.status());
  SCANLINE_CHECK(!plan->views.empty() && plan->views.size() <= static_cast<size_t>(kMaxViews));
  for (const PlannedView& view : plan->views) {
    for (const int64_t frame : view.frames) SCANLINE_CHECK(frame >= 0 && frame < 100);
  }
}

// Boxes are within the frame and the limit, one list a moment or one for all, and there only where
// they are read.
void CheckPeople(const Request& request, const RequestLimits& limits) {
  const auto& keyframes = request.frame_spec.sampling.keyframes;
  SCANLINE_CHECK(keyframes.has_value() == request.answer.tasks.detect);
  if (!keyframes) return;
  const auto& boxes = request.people.boxes;
  SCANLINE_CHECK(request.people.find == boxes.empty());
  SCANLINE_CHECK(request.people.find ||
                 boxes.size() == std::max<size_t>(1, keyframes->seconds.size()));
  size_t count = 0;
  for (const auto& of_moment : boxes) {
    count += of_moment.size();
    for (const Box& box : of_moment) {
      SCANLINE_CHECK(box.x_min >= 0 && box.x_min < box.x_max && box.x_max <= 1);
      SCANLINE_CHECK(box.y_min >= 0 && box.y_min < box.y_max && box.y_max <= 1);
    }
  }
  SCANLINE_CHECK(count <= static_cast<size_t>(limits.max_boxes));
}

// The texts are within the limits, in whole groups of prompts, and there only where they are read;
// what they cost is finite and not nothing.
void CheckTexts(const Request& request, const RequestLimits& limits) {
  const TaskSet& tasks = request.answer.tasks;
  const bool reads = tasks.match || !request.has_clip();
  SCANLINE_CHECK(request.texts.empty() != reads);
  SCANLINE_CHECK(request.prompts >= 1 && request.texts.size() % request.prompts == 0);
  SCANLINE_CHECK(request.texts.size() / request.prompts <= static_cast<size_t>(limits.max_texts));
  SCANLINE_CHECK(!tasks.rerank || (tasks.match && request.prompts == 1));
  const ModelConfig& config = request.model->config;
  SCANLINE_CHECK((TextCost(config, request.texts) >= 1) == reads);
  SCANLINE_CHECK(!tasks.rerank || RerankCost(config, request.texts, 12) >= 1);
}

void CheckInput(const Request& request, const RequestLimits& limits) {
  SCANLINE_CHECK(request.clip_bytes() >= 0 && request.clip_bytes() <= limits.max_inline_bytes);
  if (const auto* frames = std::get_if<FrameInput>(&request.input)) {
    SCANLINE_CHECK(request.clip_bytes() > 0);  // of a clip, the decoder says it
    SCANLINE_CHECK(frames->count == request.frame_spec.sampling.frames);
    SCANLINE_CHECK(frames->rgb.size() ==
                   size_t{3} * frames->count * frames->width * frames->height);
  }
  if (const auto* tensor = std::get_if<TensorInput>(&request.input)) {
    SCANLINE_CHECK(tensor->frames == request.frame_spec.sampling.frames);
    SCANLINE_CHECK(tensor->values.size() ==
                   sizeof(float) * 3 * tensor->frames * tensor->width * tensor->height);
  }
}

void TryClip(const uint8_t* data, size_t size, const RequestLimits& limits) {
  v1::AnalyzeClipRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const auto request = FromProto(message, Models(), limits, Cancel());
  if (!request.ok()) return CheckRefusal(request.status());
  CheckSpec(*request);
  CheckTexts(*request, limits);
  CheckPeople(*request, limits);
  CheckInput(*request, limits);
}

void TryTexts(const uint8_t* data, size_t size, const RequestLimits& limits) {
  v1::EmbedTextRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const auto request = FromProto(message, Models(), limits, Cancel());
  if (!request.ok()) return CheckRefusal(request.status());
  SCANLINE_CHECK(!request->has_clip() && request->clip_bytes() == 0);
  SCANLINE_CHECK(request->text_bytes() <= limits.max_texts * limits.max_text_bytes);
  CheckTexts(*request, limits);
}

void TryUpload(const uint8_t* data, size_t size, const RequestLimits& limits) {
  v1::UploadClipRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size)) || !message.has_start()) return;
  const auto request = FromProto(message.start(), Models(), limits, Cancel());
  if (!request.ok()) return CheckRefusal(request.status());
  CheckSpec(*request);
  CheckTexts(*request, limits);
  CheckPeople(*request, limits);
  const UploadClaim claim = ClaimOf(message.start());
  SCANLINE_CHECK(claim.bytes >= 0 && claim.bytes <= limits.max_upload_bytes);
  SCANLINE_CHECK(claim.sha256.empty() || claim.sha256.size() == 32);
}

}  // namespace
}  // namespace scanline

// Any bytes that are a message are a request that can be carried out, or are refused for a reason.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scanline;
  const RequestLimits limits = {.max_inline_bytes = 512,
                                .max_upload_bytes = 4096,
                                .max_pixels = 64,
                                .max_texts = 3,
                                .max_text_bytes = 16,
                                .max_boxes = 3};
  TryClip(data, size, limits);
  TryUpload(data, size, limits);
  TryTexts(data, size, limits);
  return 0;
}
