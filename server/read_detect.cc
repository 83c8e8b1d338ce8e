#include "server/read_detect.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/field_error.h"

namespace scanline {
namespace {

constexpr double kShortestInterval = 0.05;  // seconds; a frame of 20 a second
constexpr double kLongestInterval = 3600;
constexpr uint32_t kMostClasses = 1'000'000;

absl::StatusOr<float> ReadScore(absl::string_view field, float value, double own) {
  if (!(value >= 0 && value <= 1)) return FieldInvalid(field, "a number from 0 to 1", value);
  return value > 0 ? value : static_cast<float>(own);
}

absl::StatusOr<double> ReadInterval(const v1::DetectOptions& options, const DetectConfig& model) {
  if (!options.has_keyframe_interval()) return model.keyframe_interval;
  constexpr char kField[] = "spec.detect.keyframe_interval";
  SCANLINE_ASSIGN_OR_RETURN(const double seconds, Seconds(kField, options.keyframe_interval()));
  if (seconds >= kShortestInterval && seconds <= kLongestInterval) return seconds;
  return FieldInvalid(kField, absl::StrCat(kShortestInterval, " to ", kLongestInterval, " s"),
                      absl::StrCat(seconds, " s"));
}

// From `low` to `high`, corners in [0, 1]. NaN is in no order.
absl::Status CheckSide(const std::string& box, absl::string_view axis, float low, float high) {
  for (const auto& [corner, value] : {std::pair("_min", low), std::pair("_max", high)}) {
    if (value >= 0 && value <= 1) continue;
    return FieldInvalid(absl::StrCat(box, ".", axis, corner),
                        "a number from 0 to 1 (of the frame as displayed)", value);
  }
  if (low < high) return absl::OkStatus();
  return FieldInvalid(absl::StrCat(box, ".", axis, "_max"),
                      absl::StrCat("more than ", axis, "_min, which is ", low), high);
}

absl::StatusOr<std::vector<TimedBox>> ReadBoxes(const v1::DetectOptions& options) {
  std::vector<TimedBox> boxes;
  for (int i = 0; i < options.proposals_size(); ++i) {
    const v1::BoundingBox& box = options.proposals(i);
    const std::string name = absl::StrCat("spec.detect.proposals[", i, "]");
    SCANLINE_RETURN_IF_ERROR(CheckSide(name, "x", box.x_min(), box.x_max()));
    SCANLINE_RETURN_IF_ERROR(CheckSide(name, "y", box.y_min(), box.y_max()));
    if (box.has_time_offset() != options.proposals(0).has_time_offset()) {
      return FieldInvalid(name + ".time_offset",
                          "a time for every box, or for none (then each counts at every keyframe)",
                          box.has_time_offset() ? "a time" : "none");
    }
    SCANLINE_ASSIGN_OR_RETURN(const double seconds,
                              Seconds(name + ".time_offset", box.time_offset()));
    boxes.push_back({seconds, {box.x_min(), box.y_min(), box.x_max(), box.y_max()}});
  }
  return boxes;
}

absl::Status NoFinder(const ServedModel& model) {
  return MakeError(
      Reason::kTaskUnsupported,
      absl::StrCat("this server has no person detector, so ", model.full_name(),
                   " is served for boxes that the request gives (spec.detect.proposals) alone; "
                   "`./dev setup` makes one, --person-detector names it"),
      {{"model", model.full_name()}, {"task", v1::Task_Name(v1::TASK_DETECT_ACTIONS)}});
}

absl::Status ReadPeople(const v1::DetectOptions& options, Request& request,
                        KeyframeSpec& keyframes) {
  PeopleSpec& people = request.people;
  people.find = options.proposals().empty();
  if (people.find) {
    keyframes.show = true;
    return request.model->find_people ? absl::OkStatus() : NoFinder(*request.model);
  }
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<TimedBox> boxes, ReadBoxes(options));
  Moments moments = GroupByTime(boxes);
  people.boxes = std::move(moments.boxes);
  if (options.proposals(0).has_time_offset()) keyframes.seconds = std::move(moments.seconds);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadDetect(const v1::DetectOptions& options, const RequestLimits& limits,
                        Request& request) {
  const TaskSet& tasks = request.answer.tasks;
  if (!tasks.detect) return absl::OkStatus();
  const ModelConfig& model = request.model->config;
  FrameSpec& frame_spec = request.frame_spec;
  if (frame_spec.spatial_views != 1) {
    return FieldInvalid("spec.sampling.spatial_views",
                        "0 or 1 beside TASK_DETECT_ACTIONS, whose boxes belong to one picture",
                        frame_spec.spatial_views);
  }
  KeyframeSpec keyframes;
  SCANLINE_ASSIGN_OR_RETURN(keyframes.interval_seconds, ReadInterval(options, *model.detect));
  keyframes.alone = !(tasks.classify || tasks.embed || tasks.match);
  // Of frames that come as such, `ava` has its keyframe in the middle, as round every keyframe.
  keyframes.box_frame = model.frame_spec.sampling.rule == SamplingRule::kAva
                            ? frame_spec.sampling.frames / 2
                            : model.detect->box_frame;
  request.people.max_boxes = limits.max_boxes;
  SCANLINE_RETURN_IF_ERROR(ReadPeople(options, request, keyframes));
  SCANLINE_ASSIGN_OR_RETURN(request.people.min_score,
                            ReadScore("spec.detect.min_person_score", options.min_person_score(),
                                      model.detect->min_person_score));
  SCANLINE_ASSIGN_OR_RETURN(
      request.answer.min_action_score,
      ReadScore("spec.detect.min_score", options.min_score(), model.detect->min_score));
  request.answer.top_actions = static_cast<int>(std::min(options.top_k(), kMostClasses));
  request.answer.link_tracks = options.link_tracks();
  frame_spec.sampling.keyframes = std::move(keyframes);
  return absl::OkStatus();
}

}  // namespace scanline
