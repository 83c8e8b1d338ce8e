#include "server/from_proto.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/match.h"
#include "server/field_error.h"
#include "server/read_detect.h"

namespace scanline {
namespace {

using TextField = google::protobuf::RepeatedPtrField<std::string>;

constexpr int kDefaultTopK = 5;
constexpr size_t kSha256Bytes = 32;

// UUIDs of any version: 8-4-4-4-12 hexadecimal digits.
bool IsUuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !absl::ascii_isxdigit(text[i])) return false;
  }
  return true;
}

absl::Status CheckId(const std::string& id) {
  if (id.empty() || IsUuid(id)) return absl::OkStatus();
  return FieldInvalid("request_id", "a UUID, e.g. 123e4567-e89b-42d3-a456-426614174000", id);
}

absl::Status Unsupported(const ServedModel& model, absl::string_view task, absl::string_view why) {
  return MakeError(Reason::kTaskUnsupported, absl::StrCat(model.full_name(), " ", why),
                   {{"model", model.full_name()}, {"task", std::string(task)}});
}

absl::StatusOr<TaskSet> ReadTasks(const v1::AnalysisSpec& spec, const ServedModel& model) {
  if (spec.tasks().empty()) {
    return FieldInvalid("spec.tasks", "at least one task, e.g. TASK_CLASSIFY", "none");
  }
  const TaskSet served = model.tasks();
  TaskSet tasks = {.classify = false};
  for (const int task : spec.tasks()) {
    if (!v1::Task_IsValid(task) || task == v1::TASK_UNSPECIFIED) {
      return FieldInvalid("spec.tasks", "a task of the Task enum", task);
    }
    tasks.classify |= task == v1::TASK_CLASSIFY;
    tasks.embed |= task == v1::TASK_EMBED;
    tasks.match |= task == v1::TASK_MATCH_TEXT;
    tasks.detect |= task == v1::TASK_DETECT_ACTIONS;
    const bool is_served = (task == v1::TASK_CLASSIFY && served.classify) ||
                           (task == v1::TASK_EMBED && served.embed) ||
                           (task == v1::TASK_MATCH_TEXT && served.match) ||
                           (task == v1::TASK_DETECT_ACTIONS && served.detect);
    if (is_served) continue;
    const std::string& name = v1::Task_Name(static_cast<v1::Task>(task));
    return Unsupported(
        model, name,
        absl::StrCat("is not served for ", name, "; GetModel says which tasks it is served for"));
  }
  tasks.rerank = tasks.match && spec.match_text().rerank();
  return tasks;
}

absl::Status CheckTexts(absl::string_view field, const TextField& texts,
                        const RequestLimits& limits) {
  if (texts.size() > limits.max_texts) {
    return FieldInvalid(field, absl::StrCat("up to ", limits.max_texts, " texts"), texts.size());
  }
  for (int i = 0; i < texts.size(); ++i) {
    if (static_cast<int64_t>(texts[i].size()) <= limits.max_text_bytes) continue;
    return FieldInvalid(absl::StrCat(field, "[", i, "]"),
                        absl::StrCat("up to ", limits.max_text_bytes, " bytes"), texts[i].size());
  }
  return absl::OkStatus();
}

// Those to match the clip with, each in the model's templates where they are asked for.
absl::Status ReadMatchTexts(const v1::MatchTextOptions& options, Request& request) {
  if (!request.answer.tasks.match) return absl::OkStatus();
  if (options.texts().empty()) {
    return FieldInvalid("spec.match_text.texts", "at least one text for TASK_MATCH_TEXT", "none");
  }
  if (options.rerank() && !request.model->can_rerank()) {
    return Unsupported(*request.model, "rerank",
                       "has no fusion layers, so it matches without spec.match_text.rerank alone");
  }
  request.texts.assign(options.texts().begin(), options.texts().end());
  if (!options.use_prompts()) return absl::OkStatus();
  if (options.rerank()) {
    return FieldInvalid("spec.match_text.use_prompts",
                        "false beside rerank, which scores one text at a time", "true");
  }
  for (size_t i = 0; i < request.texts.size(); ++i) {
    if (!absl::StripAsciiWhitespace(request.texts[i]).empty()) continue;
    return FieldInvalid(absl::StrCat("spec.match_text.texts[", i, "]"), "a label", "none");
  }
  const std::vector<std::string>& prompts = request.model->config.embed->prompts;
  request.texts = WithPrompts(request.texts, prompts);
  request.prompts = static_cast<int>(prompts.size());
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
  answer.skip_normalize = spec.embed().skip_normalize();
  answer.window_embeddings = spec.embed().per_window();
  answer.windows = spec.sampling().has_window_stride() || answer.window_embeddings;
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

// Frames and tensors are one window, of which no part can be asked for.
absl::Status CheckWhole(const SamplingSpec& sampling) {
  constexpr char kExpected[] = "none beside frames or a tensor, which are used as they are";
  if (sampling.start_seconds > 0) {
    return FieldInvalid("spec.sampling.start_offset", kExpected,
                        absl::StrCat(sampling.start_seconds, " s"));
  }
  if (sampling.end_seconds.has_value()) {
    return FieldInvalid("spec.sampling.end_offset", kExpected,
                        absl::StrCat(*sampling.end_seconds, " s"));
  }
  return absl::OkStatus();
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
      SCANLINE_RETURN_IF_ERROR(CheckWhole(request.frame_spec.sampling));
      const int count = request.frame_spec.sampling.frames;
      SCANLINE_ASSIGN_OR_RETURN(request.input,
                                ReadFrames(*message.mutable_frames(), count, limits));
      return absl::OkStatus();
    }
    case v1::AnalyzeClipRequest::kTensor: {
      SCANLINE_RETURN_IF_ERROR(CheckWhole(request.frame_spec.sampling));
      SCANLINE_ASSIGN_OR_RETURN(request.input,
                                ReadTensor(*message.mutable_tensor(), request.frame_spec, limits));
      return absl::OkStatus();
    }
    case v1::AnalyzeClipRequest::INPUT_NOT_SET:
      break;
  }
  return FieldInvalid("input", "content, frames or a tensor", "none");
}

absl::Status CheckCounts(const v1::AnalysisSpec& spec, const RequestLimits& limits) {
  SCANLINE_RETURN_IF_ERROR(CheckTexts("spec.match_text.texts", spec.match_text().texts(), limits));
  if (spec.detect().proposals_size() > limits.max_boxes) {
    return FieldInvalid("spec.detect.proposals", absl::StrCat("up to ", limits.max_boxes),
                        spec.detect().proposals_size());
  }
  return absl::OkStatus();
}

// Everything but the input.
absl::StatusOr<Request> ReadRequest(const v1::AnalysisSpec& spec, const std::string& id,
                                    const ModelTable& models, const RequestLimits& limits,
                                    const Cancel& cancel) {
  Request request;
  request.cancel = cancel;
  SCANLINE_RETURN_IF_ERROR(CheckId(id));
  request.id = id;
  SCANLINE_RETURN_IF_ERROR(CheckCounts(spec, limits));
  SCANLINE_ASSIGN_OR_RETURN(request.model, models.Find(spec.model()));
  SCANLINE_ASSIGN_OR_RETURN(const TaskSet tasks, ReadTasks(spec, *request.model));
  if (!v1::Priority_IsValid(spec.priority())) {
    return FieldInvalid("spec.priority", "a value of the Priority enum",
                        static_cast<int>(spec.priority()));
  }
  SCANLINE_ASSIGN_OR_RETURN(request.frame_spec,
                            ApplySampling(spec.sampling(), request.model->config.frame_spec));
  SCANLINE_ASSIGN_OR_RETURN(request.answer, ReadAnswerOptions(spec));
  request.answer.tasks = tasks;
  SCANLINE_RETURN_IF_ERROR(ReadMatchTexts(spec.match_text(), request));
  SCANLINE_RETURN_IF_ERROR(ReadDetect(spec.detect(), limits, request));
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

absl::StatusOr<Request> FromProto(v1::EmbedTextRequest& message, const ModelTable& models,
                                  const RequestLimits& limits, const Cancel& cancel) {
  Request request;
  request.cancel = cancel;
  request.input = TextsAlone{};
  SCANLINE_RETURN_IF_ERROR(CheckId(message.request_id()));
  request.id = message.request_id();
  SCANLINE_RETURN_IF_ERROR(CheckTexts("texts", message.texts(), limits));
  SCANLINE_ASSIGN_OR_RETURN(request.model, models.Find(message.model()));
  if (!request.model->takes_texts()) {
    return Unsupported(*request.model, "EmbedText", "has no text tower, which EmbedText needs");
  }
  if (message.texts().empty()) return FieldInvalid("texts", "at least one text", "none");
  request.answer.tasks = {.classify = false};
  for (std::string& text : *message.mutable_texts()) request.texts.push_back(std::move(text));
  return request;
}

UploadClaim ClaimOf(const v1::UploadClipRequest::Start& message) {
  return {static_cast<int64_t>(message.content_bytes()), message.sha256()};
}

}  // namespace scanline
