#include "server/from_proto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr int kDefaultTopK = 5;
constexpr double kShortestSeconds = 0.01;  // of a window and of a stride
constexpr int kMostViews = 32;
constexpr size_t kSha256Bytes = 32;

template <typename Found>
absl::Status FieldInvalid(absl::string_view field, absl::string_view expected, const Found& found) {
  const std::string seen = absl::StrCat(found).substr(0, 100);
  return MakeError(
      Reason::kFieldInvalid, absl::StrCat(field, ": expected ", expected, ", found ", seen),
      {{"field", std::string(field)}, {"expected", std::string(expected)}, {"found", seen}});
}

absl::StatusOr<double> Seconds(absl::string_view field, const google::protobuf::Duration& d) {
  const double seconds = static_cast<double>(d.seconds()) + d.nanos() * 1e-9;
  const bool sound = std::abs(d.nanos()) < 1'000'000'000 && std::abs(d.seconds()) < 315'576'000'001;
  if (!sound || seconds < 0) {
    return FieldInvalid(field, "a duration of at least 0 s", absl::StrCat(seconds, " s"));
  }
  return seconds;
}

// UUIDs of any version: 8-4-4-4-12 hexadecimal digits.
bool IsUuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !absl::ascii_isxdigit(text[i])) return false;
  }
  return true;
}

absl::Status CheckTasks(const v1::AnalysisSpec& spec, const ServedModel& model) {
  if (spec.tasks().empty()) {
    return FieldInvalid("spec.tasks", "at least one task, e.g. TASK_CLASSIFY", "none");
  }
  for (const int task : spec.tasks()) {
    if (!v1::Task_IsValid(task) || task == v1::TASK_UNSPECIFIED) {
      return FieldInvalid("spec.tasks", "a task of the Task enum", task);
    }
    if (task == v1::TASK_CLASSIFY) continue;
    const std::string name = v1::Task_Name(static_cast<v1::Task>(task));
    return MakeError(
        Reason::kTaskUnsupported,
        absl::StrCat(model.full_name(), " is served for TASK_CLASSIFY alone, not for ", name),
        {{"model", model.full_name()}, {"task", name}});
  }
  const auto& tasks = model.config.tasks;
  if (std::find(tasks.begin(), tasks.end(), "classify") == tasks.end()) {
    return MakeError(Reason::kTaskUnsupported,
                     absl::StrCat(model.full_name(), " has no head for TASK_CLASSIFY"),
                     {{"model", model.full_name()}, {"task", "TASK_CLASSIFY"}});
  }
  return absl::OkStatus();
}

absl::StatusOr<AnswerOptions> ReadAnswerOptions(const v1::AnalysisSpec& spec) {
  AnswerOptions answer;
  const v1::ClassifyOptions& classify = spec.classify();
  // More than the model has classes means all of them.
  answer.top_k = classify.top_k() == 0
                     ? kDefaultTopK
                     : static_cast<int>(std::min<uint32_t>(classify.top_k(), 1'000'000));
  answer.min_score = classify.min_score();
  if (!(answer.min_score >= 0 && answer.min_score <= 1)) {
    return FieldInvalid("spec.classify.min_score", "a number from 0 to 1", classify.min_score());
  }
  answer.include_logits = classify.include_logits();
  answer.windows = spec.sampling().has_window_stride();
  if (spec.sampling().return_frames()) {
    return FieldInvalid("spec.sampling.return_frames",
                        "false, since this version cannot return pictures yet", "true");
  }
  return answer;
}

absl::Status TooLarge(absl::string_view what, size_t bytes, int64_t limit) {
  return MakeError(Reason::kClipTooLarge,
                   absl::StrCat(what, " has ", bytes, " bytes; this server takes up to ", limit,
                                " in one message"),
                   {{"limit", absl::StrCat(limit)}, {"actual", absl::StrCat(bytes)}});
}

absl::StatusOr<FrameInput> ReadFrames(v1::RawFrames& frames, int expected_count,
                                      const RequestLimits& limits) {
  if (frames.count() != static_cast<uint32_t>(expected_count)) {
    return FieldInvalid("frames.count", absl::StrCat(expected_count, ", the model's frame count"),
                        frames.count());
  }
  constexpr uint32_t kMost = 65'536;
  for (const auto& [name, value] :
       {std::pair("frames.width", frames.width()), std::pair("frames.height", frames.height())}) {
    if (value == 0 || value > kMost) {
      return FieldInvalid(name, absl::StrCat("1 to ", kMost), value);
    }
  }
  const int64_t pixels = int64_t{frames.width()} * frames.height();
  if (pixels > limits.max_pixels) {
    return MakeError(
        Reason::kResolutionLimit,
        absl::StrCat("the frames have ", pixels, " pixels; this server takes up to ",
                     limits.max_pixels),
        {{"limit", absl::StrCat(limits.max_pixels)}, {"actual", absl::StrCat(pixels)}});
  }
  const int64_t bytes = pixels * 3 * frames.count();
  if (static_cast<int64_t>(frames.rgb().size()) != bytes) {
    return FieldInvalid("frames.rgb",
                        absl::StrCat("count x height x width x 3 = ", bytes, " bytes"),
                        absl::StrCat(frames.rgb().size(), " bytes"));
  }
  if (bytes > limits.max_inline_bytes) {
    return TooLarge("frames.rgb", frames.rgb().size(), limits.max_inline_bytes);
  }
  if (!frames.offsets().empty() && frames.offsets_size() != expected_count) {
    return FieldInvalid("frames.offsets", absl::StrCat("none or ", expected_count),
                        frames.offsets_size());
  }
  FrameInput input = {.count = expected_count,
                      .width = static_cast<int>(frames.width()),
                      .height = static_cast<int>(frames.height())};
  for (const google::protobuf::Duration& offset : frames.offsets()) {
    SCANLINE_ASSIGN_OR_RETURN(const double seconds, Seconds("frames.offsets", offset));
    if (!input.offsets_seconds.empty() && seconds < input.offsets_seconds.back()) {
      return FieldInvalid("frames.offsets", "ascending times", absl::StrCat(seconds, " s"));
    }
    input.offsets_seconds.push_back(seconds);
  }
  input.rgb = std::move(*frames.mutable_rgb());
  return input;
}

absl::StatusOr<TensorInput> ReadTensor(v1::ClipTensor& tensor, const FrameSpec& model,
                                       const RequestLimits& limits) {
  const auto frames = static_cast<uint32_t>(model.sampling.frames);
  const auto side = static_cast<uint32_t>(model.size);
  if (tensor.frames() != frames || tensor.height() != side || tensor.width() != side) {
    return FieldInvalid(
        "tensor", absl::StrCat(frames, " frames of ", side, " x ", side, ", the model's own"),
        absl::StrCat(tensor.frames(), " of ", tensor.height(), " x ", tensor.width()));
  }
  const int64_t bytes = int64_t{3} * frames * side * side * static_cast<int64_t>(sizeof(float));
  if (static_cast<int64_t>(tensor.values().size()) != bytes) {
    return FieldInvalid("tensor.values",
                        absl::StrCat("3 x frames x height x width fp32 values = ", bytes, " bytes"),
                        absl::StrCat(tensor.values().size(), " bytes"));
  }
  if (bytes > limits.max_inline_bytes) {
    return TooLarge("tensor.values", tensor.values().size(), limits.max_inline_bytes);
  }
  return TensorInput{.frames = model.sampling.frames,
                     .width = model.size,
                     .height = model.size,
                     .values = std::move(*tensor.mutable_values())};
}

absl::Status ReadInput(v1::AnalyzeClipRequest& message, const RequestLimits& limits,
                       Request& request) {
  switch (message.input_case()) {
    case v1::AnalyzeClipRequest::kContent: {
      std::string& content = *message.mutable_content();
      if (static_cast<int64_t>(content.size()) > limits.max_inline_bytes) {
        return TooLarge("content", content.size(), limits.max_inline_bytes);
      }
      request.input = std::move(content);
      return absl::OkStatus();
    }
    case v1::AnalyzeClipRequest::kFrames: {
      const int count = request.frame_spec.sampling.frames;
      SCANLINE_ASSIGN_OR_RETURN(request.input,
                                ReadFrames(*message.mutable_frames(), count, limits));
      return absl::OkStatus();
    }
    case v1::AnalyzeClipRequest::kTensor: {
      SCANLINE_ASSIGN_OR_RETURN(request.input,
                                ReadTensor(*message.mutable_tensor(), request.frame_spec, limits));
      return absl::OkStatus();
    }
    case v1::AnalyzeClipRequest::INPUT_NOT_SET:
      break;
  }
  return FieldInvalid("input", "content, frames or a tensor", "none");
}

absl::Status ApplyOffsets(const v1::SamplingSpec& asked, SamplingSpec& sampling) {
  if (asked.has_start_offset()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.start_seconds,
                              Seconds("spec.sampling.start_offset", asked.start_offset()));
  }
  if (asked.has_end_offset()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.end_seconds,
                              Seconds("spec.sampling.end_offset", asked.end_offset()));
    if (*sampling.end_seconds <= sampling.start_seconds) {
      return FieldInvalid("spec.sampling.end_offset",
                          absl::StrCat("more than start_offset (", sampling.start_seconds, " s)"),
                          absl::StrCat(*sampling.end_seconds, " s"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<double> WindowLength(absl::string_view field, const google::protobuf::Duration& d) {
  SCANLINE_ASSIGN_OR_RETURN(const double seconds, Seconds(field, d));
  if (seconds < kShortestSeconds) {
    return FieldInvalid(field, absl::StrCat("at least ", kShortestSeconds, " s"),
                        absl::StrCat(seconds, " s"));
  }
  return seconds;
}

absl::Status ApplyWindows(const v1::SamplingSpec& asked, SamplingSpec& sampling) {
  const double rate = asked.sample_rate_hz();
  if (!(rate >= 0 && rate <= 1000)) {
    return FieldInvalid("spec.sampling.sample_rate_hz", "0 to 1000", rate);
  }
  if (rate > 0 && asked.has_window()) {
    return FieldInvalid("spec.sampling.sample_rate_hz",
                        "0 beside `window`: either of them gives the window's length", rate);
  }
  if (rate == 0 && !asked.has_window() && !asked.has_window_stride()) return absl::OkStatus();
  if (rate > 0) sampling.window_seconds = sampling.frames / rate;
  if (asked.has_window()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.window_seconds,
                              WindowLength("spec.sampling.window", asked.window()));
  }
  if (asked.has_window_stride()) {
    SCANLINE_ASSIGN_OR_RETURN(sampling.stride_seconds,
                              WindowLength("spec.sampling.window_stride", asked.window_stride()));
  }
  if (sampling.window_seconds <= 0 || sampling.stride_seconds <= 0) {
    return FieldInvalid(
        sampling.window_seconds <= 0 ? "spec.sampling.window" : "spec.sampling.window_stride",
        "a value, since this model's own rule has no windows", "none");
  }
  sampling.rule = SamplingRule::kWindow;
  sampling.single_up_to_seconds = std::min(sampling.single_up_to_seconds, sampling.window_seconds);
  return absl::OkStatus();
}

absl::Status ApplyViews(const v1::SamplingSpec& asked, FrameSpec& spec) {
  if (asked.temporal_views() > kMostViews) {
    return FieldInvalid("spec.sampling.temporal_views", absl::StrCat("0 to ", kMostViews),
                        asked.temporal_views());
  }
  if (asked.temporal_views() > 1 && spec.sampling.rule == SamplingRule::kWindow) {
    return FieldInvalid("spec.sampling.temporal_views", "0 or 1 where windows are sampled",
                        asked.temporal_views());
  }
  if (asked.temporal_views() > 0) {
    spec.sampling.temporal_views = static_cast<int>(asked.temporal_views());
  }
  const uint32_t spatial = asked.spatial_views();
  if (spatial != 0 && spatial != 1 && spatial != 3) {
    return FieldInvalid("spec.sampling.spatial_views", "0 (the model's own), 1 or 3", spatial);
  }
  if (spatial == 3 && spec.resize != ResizeRule::kShortSideBilinear) {
    return FieldInvalid("spec.sampling.spatial_views",
                        "0 or 1, since this model sees one square of the frame", spatial);
  }
  if (spatial > 0) spec.spatial_views = static_cast<int>(spatial);
  return absl::OkStatus();
}

absl::Status CheckCounts(const v1::AnalysisSpec& spec, const RequestLimits& limits) {
  if (spec.match_text().texts_size() > limits.max_texts) {
    return FieldInvalid("spec.match_text.texts", absl::StrCat("up to ", limits.max_texts),
                        spec.match_text().texts_size());
  }
  for (const std::string& text : spec.match_text().texts()) {
    if (static_cast<int64_t>(text.size()) > limits.max_text_bytes) {
      return FieldInvalid("spec.match_text.texts",
                          absl::StrCat("up to ", limits.max_text_bytes, " bytes a text"),
                          text.size());
    }
  }
  if (spec.detect().proposals_size() > limits.max_boxes) {
    return FieldInvalid("spec.detect.proposals", absl::StrCat("up to ", limits.max_boxes),
                        spec.detect().proposals_size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FrameSpec> ApplySampling(const v1::SamplingSpec& asked, const FrameSpec& model) {
  FrameSpec spec = model;
  const auto own_count = static_cast<uint32_t>(spec.sampling.frames);
  if (asked.frame_count() != 0 && asked.frame_count() != own_count) {
    return FieldInvalid(
        "spec.sampling.frame_count",
        absl::StrCat("0 or ", own_count, ", the number that the model was made for"),
        asked.frame_count());
  }
  SCANLINE_RETURN_IF_ERROR(ApplyOffsets(asked, spec.sampling));
  SCANLINE_RETURN_IF_ERROR(ApplyWindows(asked, spec.sampling));
  SCANLINE_RETURN_IF_ERROR(ApplyViews(asked, spec));
  return spec;
}

namespace {

// Everything but the input.
absl::StatusOr<Request> ReadRequest(const v1::AnalysisSpec& spec, const std::string& id,
                                    const ModelTable& models, const RequestLimits& limits,
                                    const Cancel& cancel) {
  Request request;
  request.cancel = cancel;
  if (!id.empty() && !IsUuid(id)) {
    return FieldInvalid("request_id", "a UUID, e.g. 123e4567-e89b-42d3-a456-426614174000", id);
  }
  request.id = id;
  SCANLINE_RETURN_IF_ERROR(CheckCounts(spec, limits));
  SCANLINE_ASSIGN_OR_RETURN(request.model, models.Find(spec.model()));
  SCANLINE_RETURN_IF_ERROR(CheckTasks(spec, *request.model));
  if (!v1::Priority_IsValid(spec.priority())) {
    return FieldInvalid("spec.priority", "a value of the Priority enum",
                        static_cast<int>(spec.priority()));
  }
  SCANLINE_ASSIGN_OR_RETURN(request.frame_spec,
                            ApplySampling(spec.sampling(), request.model->config.frame_spec));
  SCANLINE_ASSIGN_OR_RETURN(request.answer, ReadAnswerOptions(spec));
  request.allow_partial = spec.allow_partial();
  return request;
}

}  // namespace

absl::StatusOr<Request> FromProto(v1::AnalyzeClipRequest& message, const ModelTable& models,
                                  const RequestLimits& limits, const Cancel& cancel) {
  SCANLINE_ASSIGN_OR_RETURN(
      Request request, ReadRequest(message.spec(), message.request_id(), models, limits, cancel));
  SCANLINE_RETURN_IF_ERROR(ReadInput(message, limits, request));
  return request;
}

absl::StatusOr<Request> FromProto(const v1::UploadClipRequest::Start& message,
                                  const ModelTable& models, const RequestLimits& limits,
                                  const Cancel& cancel) {
  SCANLINE_ASSIGN_OR_RETURN(
      Request request, ReadRequest(message.spec(), message.request_id(), models, limits, cancel));
  if (!message.sha256().empty() && message.sha256().size() != kSha256Bytes) {
    return FieldInvalid("start.sha256", "none or 32 bytes",
                        absl::StrCat(message.sha256().size(), " bytes"));
  }
  if (message.content_bytes() > static_cast<uint64_t>(limits.max_upload_bytes)) {
    return MakeError(Reason::kClipTooLarge,
                     absl::StrCat("the upload is to have ", message.content_bytes(),
                                  " bytes; this server takes up to ", limits.max_upload_bytes),
                     {{"limit", absl::StrCat(limits.max_upload_bytes)},
                      {"actual", absl::StrCat(message.content_bytes())}});
  }
  return request;
}

UploadClaim ClaimOf(const v1::UploadClipRequest::Start& message) {
  return {static_cast<int64_t>(message.content_bytes()), message.sha256()};
}

}  // namespace scanline
