#include "server/to_proto.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "model/classify.h"
#include "model/match.h"
#include "server/detections.h"
#include "server/texts.h"

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

// The frames of every view that was run in order, temporal-view-major; the spatial views of one
// share them.
void SetSampledFrames(const Clip& clip, const std::vector<bool>& run, v1::SamplingReport* report) {
  std::set<int> seen;
  for (size_t v = 0; v < clip.views.size(); ++v) {
    const View& view = clip.views[v];
    if (view.spatial_view != 0 || !run[v]) continue;
    std::set<int64_t> in_view;
    for (const int picture : view.pictures) {
      const int place = picture / clip.spatial_views;
      const SampledFrame& frame = clip.sampled.at(place);
      report->add_frame_indices(static_cast<uint32_t>(frame.index));
      if (frame.seconds.has_value()) {
        *report->add_frame_offsets() = FromSeconds(*frame.seconds);
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

void SetSampling(const Reply& reply, v1::SamplingReport* report) {
  const Clip& clip = reply.clip;
  SetSampledFrames(clip, ViewsRun(clip, reply.answer.tasks, reply.people), report);
  // Offsets are one a frame or none: frames that are sent as such may come without.
  if (report->frame_offsets_size() != report->frame_indices_size()) report->clear_frame_offsets();
  for (const Keyframe& keyframe : clip.keyframes) {
    *report->add_keyframe_offsets() = ToProto(absl::Seconds(keyframe.seconds));
    report->add_keyframe_indices(static_cast<uint32_t>(keyframe.frame));
  }
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
  if (timing.find_people.has_value()) {
    *message->mutable_find_people() = ToProto(*timing.find_people);
  }
}

void SetUsage(const Usage& usage, v1::Usage* message) {
  message->set_tokens(static_cast<uint32_t>(usage.tokens));
  message->set_frames_decoded(static_cast<uint32_t>(usage.frames_decoded));
  message->set_batch_size(static_cast<uint32_t>(usage.batch_size));
  message->set_batch_tokens(static_cast<uint32_t>(usage.batch_tokens));
}

void AddWindow(const Window& window, v1::ClipResult* result) {
  v1::WindowResult* const message = result->add_windows();
  *message->mutable_start_offset() = FromSeconds(window.start_seconds);
  *message->mutable_end_offset() = FromSeconds(window.end_seconds);
}

void SetAllClasses(const Reply& reply, v1::ClipResult* result) {
  const ClassifyConfig& config = reply.model->config.classify;
  const Classification scores = Classify(reply.clip, reply.prediction, config.score);
  SetClasses(scores.classes, config, reply.answer, result->mutable_classes());
  for (int i = 0; i < result->windows_size(); ++i) {
    SetClasses(scores.windows.at(i), config, reply.answer,
               result->mutable_windows(i)->mutable_classes());
  }
}

void SetValues(const std::vector<float>& values, v1::Embedding* message) {
  message->mutable_values()->Assign(values.begin(), values.end());
}

// The vector of the stretch [start, end) of the clip.
void SetEmbedding(const std::vector<float>& values, const Window& from, const Window& to,
                  v1::Embedding* message) {
  SetValues(values, message);
  *message->mutable_start_offset() = FromSeconds(from.start_seconds);
  *message->mutable_end_offset() = FromSeconds(to.end_seconds);
}

void SetEmbeddings(const Reply& reply, v1::ClipResult* result) {
  const Prediction& prediction = reply.prediction;
  const std::vector<Window>& windows = reply.clip.windows;
  const ClipEmbeddings vectors = MeanEmbeddings(
      reply.clip, reply.answer.skip_normalize ? prediction.raw_embeddings : prediction.embeddings);
  SetEmbedding(vectors.clip, windows.front(), windows.back(), result->add_embeddings());
  for (size_t i = 0; i < windows.size(); ++i) {
    if (reply.answer.windows) {
      SetEmbedding(vectors.windows[i], windows[i], windows[i],
                   result->mutable_windows(static_cast<int>(i))->mutable_embedding());
    }
    if (reply.answer.window_embeddings) {
      SetEmbedding(vectors.windows[i], windows[i], windows[i], result->add_embeddings());
    }
  }
}

void AddMatches(const std::vector<TextMatch>& matches, bool rerank,
                google::protobuf::RepeatedPtrField<v1::TextMatch>* messages) {
  for (const TextMatch& match : matches) {
    v1::TextMatch* const message = messages->Add();
    message->set_similarity(match.similarity);
    message->set_score(match.score);
    if (rerank) message->set_match_logit(match.match_logit);
  }
}

void SetMatches(const Reply& reply, v1::ClipResult* result) {
  const bool rerank = reply.answer.tasks.rerank;
  const TextMatches matches =
      Match(reply.clip, reply.prediction, reply.model->temperature, reply.prompts);
  AddMatches(matches.clip, rerank, result->mutable_text_matches());
  for (int i = 0; i < result->windows_size(); ++i) {
    AddMatches(matches.windows.at(i), rerank, result->mutable_windows(i)->mutable_text_matches());
  }
}

void AddWarnings(const std::vector<Notice>& notices,
                 google::protobuf::RepeatedPtrField<v1::Warning>* warnings) {
  for (const Notice& notice : notices) {
    v1::Warning* const warning = warnings->Add();
    warning->set_reason(notice.reason);
    warning->set_message(notice.message);
  }
}

std::vector<Notice> NoticesOfTexts(const Reply& reply, const std::string& prefix) {
  if (!reply.model->takes_texts()) return {};
  return TextNotices(reply.prediction.texts, reply.prompts, *reply.model->config.text_tower,
                     prefix);
}

v1::Task TaskOf(const std::string& name) {
  if (name == "classify") return v1::TASK_CLASSIFY;
  if (name == "embed") return v1::TASK_EMBED;
  if (name == "match") return v1::TASK_MATCH_TEXT;
  if (name == "detect") return v1::TASK_DETECT_ACTIONS;
  return v1::TASK_UNSPECIFIED;
}

v1::ScoreKind ScoreKindOf(const ModelConfig& config) {
  ScoreKind kind = config.classify.score;
  if (config.classify.labels.empty()) {
    if (!config.detect.has_value()) return v1::SCORE_KIND_COSINE;
    kind = config.detect->score;
  }
  return kind == ScoreKind::kSigmoid ? v1::SCORE_KIND_SIGMOID : v1::SCORE_KIND_SOFTMAX;
}

// What it says of texts, where it takes any.
void SetTextFields(const ServedModel& model, v1::Model* message) {
  if (!model.takes_texts()) return;
  const TextTowerConfig& tower = *model.config.text_tower;
  message->set_temperature(model.temperature);
  message->set_max_text_tokens(static_cast<uint32_t>(
      tower.type == TextTowerType::kGatedConv ? tower.max_words : tower.max_length));
  if (!model.config.embed.has_value()) return;
  for (const std::string& prompt : model.config.embed->prompts) message->add_prompts(prompt);
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
  result->set_model(reply.model->full_name());
  if (reply.answer.windows) {
    for (const Window& window : reply.clip.windows) AddWindow(window, result);
  }
  if (reply.answer.tasks.classify) SetAllClasses(reply, result);
  if (reply.answer.tasks.embed) SetEmbeddings(reply, result);
  if (reply.answer.tasks.match) SetMatches(reply, result);
  if (reply.answer.tasks.detect) SetDetections(reply, result);
  SetSampling(reply, result->mutable_sampling());
  SetTiming(reply.timing, result->mutable_timing());
  SetUsage(reply.usage, result->mutable_usage());
  AddWarnings(reply.clip.notices, result->mutable_warnings());
  AddWarnings(NoticesOfTexts(reply, "spec.match_text."), result->mutable_warnings());
}

void ToProto(const Reply& reply, v1::EmbedTextResponse* response) {
  for (const TextEmbedding& text : reply.prediction.texts) {
    SetValues(text.values, response->add_embeddings());
  }
  SetTiming(reply.timing, response->mutable_timing());
  AddWarnings(NoticesOfTexts(reply, ""), response->mutable_warnings());
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
  message->set_precision(model.engine.precision);
  message->set_device(absl::StrJoin(model.devices, ","));
  message->set_kernel(model.engine.kernel);
  // Of a model without classes those of what people do.
  const bool of_people = config.classify.labels.empty() && config.detect.has_value();
  for (const std::string& label : of_people ? config.detect->labels : config.classify.labels) {
    message->add_labels(label);
  }
  message->set_labels_source(config.labels_source);
  message->set_license(config.license);
  message->set_score_kind(ScoreKindOf(config));
  message->set_finds_people(model.find_people != nullptr);
  if (config.embed.has_value()) {
    message->set_embedding_dim(static_cast<uint32_t>(config.embed->dim));
  }
  SetTextFields(model, message);
}

}  // namespace scanline
