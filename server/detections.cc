#include "server/detections.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "model/person/tracks.h"
#include "server/to_proto.h"

namespace scanline {
namespace {

void SetBox(const PersonBox& person, v1::BoundingBox* box) {
  box->set_x_min(person.x_min);
  box->set_y_min(person.y_min);
  box->set_x_max(person.x_max);
  box->set_y_max(person.y_max);
}

// Best first; equal scores keep the row order.
std::vector<int> RowsByScore(const std::vector<float>& scores) {
  std::vector<int> rows(scores.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  return rows;
}

void SetActions(const Actions& actions, const DetectConfig& config, const AnswerOptions& answer,
                v1::ActionDetection* detection) {
  for (const int row : RowsByScore(actions.scores)) {
    const bool full = answer.top_actions > 0 && detection->classes_size() >= answer.top_actions;
    if (full || actions.scores[row] < answer.min_action_score) return;
    v1::ClassScore* const one = detection->add_classes();
    one->set_class_index(static_cast<uint32_t>(row + config.label_index_offset));
    one->set_label(config.labels.at(row));
    one->set_score(actions.scores[row]);
    if (answer.include_logits) one->set_logit(actions.logits[row]);
  }
}

std::optional<TrackLinker> LinkerFor(const Reply& reply) {
  if (!reply.answer.link_tracks || reply.clip.keyframes.empty()) return std::nullopt;
  const Keyframe& first = reply.clip.keyframes[0];
  return TrackLinker({.aspect = static_cast<double>(first.width) / first.height});
}

// Those of keyframe k, one a person.
std::vector<v1::ActionDetection*> AddPeople(const Reply& reply, size_t k, v1::ClipResult* result) {
  std::vector<v1::ActionDetection*> detections;
  const auto at = ToProto(absl::Seconds(reply.clip.keyframes.at(k).seconds));
  for (const PersonBox& person : reply.people.all[k]) {
    v1::ActionDetection* const detection = result->add_detections();
    SetBox(person, detection->mutable_box());
    *detection->mutable_box()->mutable_time_offset() = at;
    *detection->mutable_keyframe_offset() = at;
    detection->set_person_score(person.score);
    detections.push_back(detection);
  }
  return detections;
}

}  // namespace

void SetDetections(const Reply& reply, v1::ClipResult* result) {
  std::optional<TrackLinker> linker = LinkerFor(reply);
  for (size_t k = 0; k < reply.people.all.size(); ++k) {
    const std::vector<v1::ActionDetection*> detections = AddPeople(reply, k, result);
    const std::vector<int>& places = reply.people.place_of_seen[k];
    for (size_t i = 0; i < places.size(); ++i) {
      SetActions(reply.prediction.actions.at(k).at(i), *reply.model->config.detect, reply.answer,
                 detections[places[i]]);
    }
    if (!linker.has_value()) continue;
    const std::vector<int> ids = linker->Link(reply.clip.keyframes[k].seconds, reply.people.all[k]);
    for (size_t i = 0; i < ids.size(); ++i) {
      detections[i]->set_track_id(static_cast<uint32_t>(ids[i]));
    }
  }
}

}  // namespace scanline
