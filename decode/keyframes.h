#pragma once

#include <cstdint>
#include <vector>

#include "base/clip.h"
#include "decode/timeline.h"

namespace scanline {

// The displayed frames that a request looks at, and when they begin and end.
struct Segment {
  int64_t first = 0;
  int64_t frames = 0;
  double begin = 0;
  double end = 0;
};

// The frame that comes on screen nearest to `seconds`; of two as near the earlier.
int64_t NearestFrame(const Timeline& timeline, double seconds);

// The moments of spec.keyframes in a segment, ascending, or as the request lists them. Every
// interval: whole multiples of it, counted from the clip's first frame as AVA counts its seconds,
// at least half an interval away from both ends. None of them: one moment in the middle. A segment
// that the `window` rule sees as one window, no longer than two intervals, has one: the frame of
// that window that boxes belong to.
std::vector<double> KeyframeTimes(const SamplingSpec& spec, const Timeline& timeline,
                                  const Segment& segment);

// The frames of the view round frame number `keyframe`, kept within the segment. Where the segment
// ends too early its first or last frame is repeated, as the reference does.
//   ava     every frame_step-th of the frames * frame_step frames in whose middle the keyframe is,
//           counted at frame_rate: by number where the clip has that rate (each frame within half
//           a step of its place), else the frames on screen at these times, as a conversion to that
//           rate would give them
//   window  frames of a window's spacing, of which number box_frame is the keyframe; where the
//           whole segment is one window with the keyframe there, that window
std::vector<int64_t> FramesAround(const SamplingSpec& spec, const Timeline& timeline,
                                  const Segment& segment, int64_t keyframe);

// From when to when that view is about, within the segment.
Window WindowAround(const SamplingSpec& spec, const Segment& segment, double seconds);

}  // namespace scanline
