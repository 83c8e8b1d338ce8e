#include "server/to_proto.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "model/classify.h"

namespace scanline {
namespace {

using google::protobuf::Duration;

Duration FromSeconds(double seconds) { return ToProto(absl::Seconds(seconds)); }

void SetClasses(const std::vector<ClassScore>& best_first, const ClassifyConfig& config,
                const AnswerOptions& answer,
                google::protobuf::RepeatedPtrField<v1::ClassScore>* classes) {
  for (const ClassScore& score : best_first) {
    if (classes->size() >= answer.top_k || score.score < answer.min_score) return;
    v1::ClassScore* const one = classes->Add();
    one->set_class_index(static_cast<uint32_t>(score.row + config.label_index_offset));
    one->set_label(config.labels.at(score.row));
    one->set_score(score.score);
    if (answer.include_logits) one->set_logit(score.logit);
  }
}

// The frames of every view in order, temporal-view-major; the spatial views of one share them.
void SetSampledFrames(const Clip& clip, v1::SamplingReport* report) {
  std::set<int> seen;
  for (const View& view : clip.views) {
    if (view.spatial_view != 0) continue;
    std::set<int64_t> in_view;
    for (const int picture : view.pictures) {
      const int place = picture / clip.spatial_views;
      const SampledFrame& frame = clip.sampled.at(place);
      report->add_frame_indices(static_cast<uint32_t>(frame.index));
      if (frame.pts_seconds.has_value()) {
        *report->add_frame_offsets() = FromSeconds(*frame.pts_seconds);
      }
      if (!in_view.insert(frame.index).second) {
        report->set_frames_repeated(report->frames_repeated() + 1);
      }
      if (frame.corrupt && seen.insert(place).second) {
        report->set_frames_corrupt(report->frames_corrupt() + 1);
      }
    }
  }
}

void SetSampling(const Clip& clip, v1::SamplingReport* report) {
  SetSampledFrames(clip, report);
  // Offsets are one a frame or none: a file without any timestamps has none.
  if (report->frame_offsets_size() != report->frame_indices_size()) report->clear_frame_offsets();
  report->set_codec(clip.source.codec);
  report->set_source_width(static_cast<uint32_t>(clip.source.width));
  report->set_source_height(static_cast<uint32_t>(clip.source.height));
  *report->mutable_source_duration() = FromSeconds(clip.source.duration_seconds);
}

void SetTiming(const Timing& timing, v1::Timing* message) {
  const auto or_zero = [](const std::optional<absl::Duration>& d) {
    return ToProto(d.value_or(absl::ZeroDuration()));
  };
  *message->mutable_receive() = or_zero(timing.receive);
  *message->mutable_decode_queue() = or_zero(timing.decode_queue);
  *message->mutable_decode() = or_zero(timing.decode);
  *message->mutable_batch_queue() = or_zero(timing.batch_queue);
  *message->mutable_inference() = or_zero(timing.inference);
  *message->mutable_total() = ToProto(timing.total);
}

void SetUsage(const Usage& usage, v1::Usage* message) {
  message->set_tokens(static_cast<uint32_t>(usage.tokens));
  message->set_frames_decoded(static_cast<uint32_t>(usage.frames_decoded));
  message->set_batch_size(static_cast<uint32_t>(usage.batch_size));
  message->set_batch_tokens(static_cast<uint32_t>(usage.batch_tokens));
}

v1::Task TaskOf(const std::string& name) {
  if (name == "classify") return v1::TASK_CLASSIFY;
  return v1::TASK_UNSPECIFIED;
}

}  // namespace

Duration ToProto(absl::Duration duration) {
  Duration message;
  const absl::Duration rounded = absl::Trunc(duration, absl::Nanoseconds(1));
  const int64_t seconds = absl::ToInt64Seconds(rounded);
  message.set_seconds(seconds);
  message.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(rounded - absl::Seconds(seconds))));
  return message;
}

void ToProto(const Reply& reply, v1::ClipResult* result) {
  const ClassifyConfig& config = reply.model->config.classify;
  const Classification scores = Classify(reply.clip, reply.prediction, config.score);
  result->set_model(reply.model->full_name());
  SetClasses(scores.classes, config, reply.answer, result->mutable_classes());
  if (reply.answer.windows) {
    for (size_t i = 0; i < reply.clip.windows.size(); ++i) {
      v1::WindowResult* const window = result->add_windows();
      *window->mutable_start_offset() = FromSeconds(reply.clip.windows[i].start_seconds);
      *window->mutable_end_offset() = FromSeconds(reply.clip.windows[i].end_seconds);
      SetClasses(scores.windows.at(i), config, reply.answer, window->mutable_classes());
    }
  }
  SetSampling(reply.clip, result->mutable_sampling());
  SetTiming(reply.timing, result->mutable_timing());
  SetUsage(reply.usage, result->mutable_usage());
  for (const Notice& notice : reply.clip.notices) {
    v1::Warning* const warning = result->add_warnings();
    warning->set_reason(notice.reason);
    warning->set_message(notice.message);
  }
}

void ToProto(const ServedModel& model, v1::Model::State state, v1::Model* message) {
  const ModelConfig& config = model.config;
  message->set_name(model.name());
  message->set_version(config.version);
  message->set_state(state);
  // Only what this version answers, whatever else the bundle holds.
  for (const std::string& task : config.tasks) {
    if (TaskOf(task) != v1::TASK_UNSPECIFIED) message->add_tasks(TaskOf(task));
  }
  message->set_frame_count(static_cast<uint32_t>(config.backbone.frames));
  message->set_input_size_px(static_cast<uint32_t>(config.frame_spec.size));
  message->set_tokens_per_clip(static_cast<uint32_t>(model.tokens_per_view()));
  message->set_weights_sha256(model.weights_sha256);
  message->set_precision("fp32");
  for (const std::string& label : config.classify.labels) message->add_labels(label);
  message->set_labels_source(config.labels_source);
  message->set_license(config.license);
  message->set_score_kind(config.classify.score == ScoreKind::kSigmoid ? v1::SCORE_KIND_SIGMOID
                                                                       : v1::SCORE_KIND_SOFTMAX);
}

}  // namespace scanline
