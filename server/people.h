#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/box.h"
#include "base/clip.h"
#include "decode/decode_clip.h"
#include "model/person/person_box.h"
#include "model/predictor.h"

// Whose actions are asked for: the boxes of the client, or people that the server finds. Boxes are
// in [0, 1] of the frame as displayed wherever nothing else is said.

namespace scanline {

// Finds people in a frame, best first; those with a score over `min_score`. Called on any thread.
using PersonFinder =
    std::function<absl::StatusOr<std::vector<PersonBox>>(const FullFrame& frame, float min_score)>;

// One list a keyframe.
using PeopleOfKeyframes = std::vector<std::vector<PersonBox>>;

// What a request says of people.
struct PeopleSpec {
  bool find = false;    // the server finds them
  float min_score = 0;  // of those
  // Else the client's: one list a moment of KeyframeSpec::seconds, or, where it has no moments, one
  // list that counts for every keyframe.
  std::vector<std::vector<Box>> boxes;
  int max_boxes = 1000;  // of all keyframes, also where one list counts for each of them
};

struct TimedBox {
  double seconds = 0;
  Box box;
};

// The moments of `boxes`, ascending, each once, and the boxes of each in the order given.
struct Moments {
  std::vector<double> seconds;
  std::vector<std::vector<Box>> boxes;
};
Moments GroupByTime(absl::Span<const TimedBox> boxes);

// A clip and, where people were to be found, who was.
struct DecodedClip {
  DecodedClip(Clip clip_in) : clip(std::move(clip_in)) {}  // NOLINT: a clip is one without people

  Clip clip;
  PeopleOfKeyframes found;
  absl::Duration finding;  // the time that it took
};

// The people of a clip, and those of them that the model sees.
struct ClipPeople {
  PeopleOfKeyframes all;
  std::vector<std::vector<PersonInPicture>> seen;  // one list a keyframe, for PredictItem::people
  std::vector<std::vector<int>> place_of_seen;     // in `all`, likewise
};

// Those of each keyframe of a clip: the client's or the ones found. FIELD_INVALID where a list that
// counts for every keyframe gives more than max_boxes.
absl::StatusOr<PeopleOfKeyframes> PeopleOf(const PeopleSpec& spec, const Clip& clip,
                                           PeopleOfKeyframes found);

// Where the model's pictures of `frame_spec` show them; whom they do not show is not `seen`.
// `inclusive`: DetectConfig's.
ClipPeople PlacePeople(PeopleOfKeyframes people, const Clip& clip, const FrameSpec& frame_spec,
                       bool inclusive);

// For each view of the clip whether the predictor runs it: a window's for the tasks that read
// windows, a keyframe's where somebody is seen.
std::vector<bool> ViewsRun(const Clip& clip, const TaskSet& tasks, const ClipPeople& people);

}  // namespace scanline
