#include "decode/keyframes.h"

#include <algorithm>
#include <cmath>

#include "decode/sampling_plan.h"

namespace scanline {
namespace {

constexpr double kSameInstant = 1e-6;

double IntervalOf(const SamplingSpec& spec) {
  return spec.keyframes ? spec.keyframes->interval_seconds : KeyframeSpec().interval_seconds;
}

int BoxFrameOf(const SamplingSpec& spec) { return spec.keyframes ? spec.keyframes->box_frame : 0; }

bool IsOneWindow(const SamplingSpec& spec, const Segment& segment) {
  return spec.rule == SamplingRule::kWindow &&
         segment.end - segment.begin <= spec.single_up_to_seconds + kSameInstant;
}

// Seconds from frame to frame of a window.
double WindowStep(const SamplingSpec& spec, const Segment& segment) {
  const double seconds =
      IsOneWindow(spec, segment) ? segment.end - segment.begin : spec.window_seconds;
  return seconds / spec.frames;
}

std::vector<int64_t> UniformFrames(const SamplingSpec& spec, const Segment& segment) {
  std::vector<int64_t> frames = UniformIndices(segment.frames, spec.frames);
  for (int64_t& frame : frames) frame += segment.first;
  return frames;
}

int64_t Within(const Segment& segment, int64_t frame) {
  return std::clamp(frame, segment.first, segment.first + segment.frames - 1);
}

// Whether the frames round `keyframe` stand where frames of `rate` would.
bool HasRate(const Timeline& timeline, const Segment& segment, int64_t keyframe, int64_t reach,
             double rate) {
  const int64_t last = Within(segment, keyframe + reach);
  for (int64_t frame = Within(segment, keyframe - reach); frame <= last; ++frame) {
    const double place = static_cast<double>(frame - keyframe) / rate;
    if (std::abs(timeline.start[frame] - timeline.start[keyframe] - place) > 0.5 / rate) {
      return false;
    }
  }
  return true;
}

std::vector<int64_t> AvaFrames(const SamplingSpec& spec, const Timeline& timeline,
                               const Segment& segment, int64_t keyframe) {
  const int64_t span = int64_t{spec.frames} * spec.frame_step;
  const double rate = spec.frame_rate;
  const bool by_number = rate <= 0 || HasRate(timeline, segment, keyframe, span / 2, rate);
  std::vector<int64_t> frames;
  for (int64_t position : AvaIndices(span, spec.frames, spec.frame_step)) {
    const int64_t offset = position - span / 2;
    const double at = timeline.start[keyframe] + static_cast<double>(offset) / rate;
    frames.push_back(Within(segment, by_number ? keyframe + offset : FrameAt(timeline, at)));
  }
  return frames;
}

}  // namespace

int64_t NearestFrame(const Timeline& timeline, double seconds) {
  const int64_t before = FrameAt(timeline, seconds);
  const int64_t after = std::min(before + 1, timeline.frames() - 1);
  return timeline.start[after] - seconds < seconds - timeline.start[before] ? after : before;
}

std::vector<double> KeyframeTimes(const SamplingSpec& spec, const Timeline& timeline,
                                  const Segment& segment) {
  if (spec.keyframes && !spec.keyframes->seconds.empty()) return spec.keyframes->seconds;
  const double interval = IntervalOf(spec);
  const double length = segment.end - segment.begin;
  if (IsOneWindow(spec, segment) && length <= 2 * interval + kSameInstant) {
    return {timeline.start[UniformFrames(spec, segment)[BoxFrameOf(spec)]]};
  }
  std::vector<double> times;
  const double first = std::ceil((segment.begin + interval / 2 - kSameInstant) / interval);
  for (int64_t i = 0;; ++i) {
    const double at = (first + static_cast<double>(i)) * interval;
    if (at > segment.end - interval / 2 + kSameInstant) break;
    times.push_back(at);
  }
  if (times.empty()) times.push_back((segment.begin + segment.end) / 2);
  return times;
}

std::vector<int64_t> FramesAround(const SamplingSpec& spec, const Timeline& timeline,
                                  const Segment& segment, int64_t keyframe) {
  if (spec.rule == SamplingRule::kAva) return AvaFrames(spec, timeline, segment, keyframe);
  const int box_frame = BoxFrameOf(spec);
  if (IsOneWindow(spec, segment)) {
    std::vector<int64_t> whole = UniformFrames(spec, segment);
    if (whole[box_frame] == keyframe) return whole;
  }
  const double step = WindowStep(spec, segment);
  std::vector<int64_t> frames;
  for (int k = 0; k < spec.frames; ++k) {
    frames.push_back(
        Within(segment, FrameAt(timeline, timeline.start[keyframe] + (k - box_frame) * step)));
  }
  return frames;
}

Window WindowAround(const SamplingSpec& spec, const Segment& segment, double seconds) {
  double before = IntervalOf(spec) / 2;
  double after = before;
  if (spec.rule == SamplingRule::kWindow) {
    const double step = WindowStep(spec, segment);
    before = (BoxFrameOf(spec) + 0.5) * step;
    after = spec.frames * step - before;
  }
  return {std::max(segment.begin, seconds - before), std::min(segment.end, seconds + after)};
}

}  // namespace scanline
