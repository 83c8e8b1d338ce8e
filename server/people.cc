#include "server/people.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/picture_geometry.h"

namespace scanline {
namespace {

PersonBox GivenPerson(const Box& box) {
  return {static_cast<float>(box.x_min), static_cast<float>(box.y_min),
          static_cast<float>(box.x_max), static_cast<float>(box.y_max), 1};
}

std::vector<PersonBox> GivenPeople(const std::vector<Box>& boxes) {
  std::vector<PersonBox> people(boxes.size());
  std::transform(boxes.begin(), boxes.end(), people.begin(), GivenPerson);
  return people;
}

absl::Status TooMany(size_t boxes, size_t keyframes, int most) {
  const std::string field = "spec.detect.proposals";
  const std::string expected = absl::StrCat("up to ", most, " boxes over all keyframes");
  const std::string found = absl::StrCat(boxes, " at each of ", keyframes);
  return MakeError(Reason::kFieldInvalid,
                   absl::StrCat(field, ": expected ", expected, ", found ", found,
                                "; give boxes a time_offset, or take a longer keyframe_interval"),
                   {{"field", field}, {"expected", expected}, {"found", found}});
}

}  // namespace

Moments GroupByTime(absl::Span<const TimedBox> boxes) {
  std::map<double, std::vector<Box>> by_time;
  for (const TimedBox& timed : boxes) by_time[timed.seconds].push_back(timed.box);
  Moments moments;
  for (auto& [seconds, of_moment] : by_time) {
    moments.seconds.push_back(seconds);
    moments.boxes.push_back(std::move(of_moment));
  }
  return moments;
}

absl::StatusOr<PeopleOfKeyframes> PeopleOf(const PeopleSpec& spec, const Clip& clip,
                                           PeopleOfKeyframes found) {
  const size_t keyframes = clip.keyframes.size();
  if (!spec.find && spec.boxes.size() == 1) {
    const size_t boxes = spec.boxes[0].size();
    if (boxes * keyframes > static_cast<size_t>(spec.max_boxes)) {
      return TooMany(boxes, keyframes, spec.max_boxes);
    }
    return PeopleOfKeyframes(keyframes, GivenPeople(spec.boxes[0]));
  }
  PeopleOfKeyframes people = std::move(found);
  for (const std::vector<Box>& boxes : spec.boxes) people.push_back(GivenPeople(boxes));
  if (people.size() == keyframes) return people;
  return MakeError(Reason::kInternal, absl::StrCat("there are people of ", people.size(),
                                                   " keyframes, and the clip has ", keyframes));
}

ClipPeople PlacePeople(PeopleOfKeyframes people, const Clip& clip, const FrameSpec& frame_spec,
                       bool inclusive) {
  ClipPeople placed;
  placed.all = std::move(people);
  placed.seen.resize(placed.all.size());
  placed.place_of_seen.resize(placed.all.size());
  for (size_t k = 0; k < placed.all.size(); ++k) {
    const Keyframe& keyframe = clip.keyframes.at(k);
    const PictureGeometry geometry = GeometryOf(frame_spec, keyframe.width, keyframe.height);
    for (size_t i = 0; i < placed.all[k].size(); ++i) {
      const PersonBox& person = placed.all[k][i];
      const auto box =
          VisibleBox(geometry, {person.x_min, person.y_min, person.x_max, person.y_max}, inclusive);
      if (!box.has_value()) continue;
      placed.seen[k].push_back({*box, person.score});
      placed.place_of_seen[k].push_back(static_cast<int>(i));
    }
  }
  return placed;
}

std::vector<bool> ViewsRun(const Clip& clip, const TaskSet& tasks, const ClipPeople& people) {
  const bool reads_windows = tasks.classify || tasks.embed || tasks.match;
  std::vector<bool> run(clip.views.size());
  for (size_t v = 0; v < run.size(); ++v) run[v] = reads_windows && clip.views[v].window >= 0;
  for (size_t k = 0; k < people.seen.size(); ++k) {
    if (!people.seen[k].empty()) run.at(clip.keyframes.at(k).view) = true;
  }
  return run;
}

}  // namespace scanline
