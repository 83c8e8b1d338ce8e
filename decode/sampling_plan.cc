#include "decode/sampling_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "decode/keyframes.h"

namespace scanline {
namespace {

// A time within this of a border is on it: clips whose length is a whole number of windows.
constexpr double kBorderSeconds = 1e-6;

// The first `count` values of numpy.linspace(start, stop, points), in its order of operations.
std::vector<double> Linspace(double start, double stop, int64_t points) {
  std::vector<double> values(static_cast<size_t>(points), start);
  if (points < 2) return values;
  const double step = (stop - start) / static_cast<double>(points - 1);
  for (int64_t i = 0; i < points; ++i) values[i] = static_cast<double>(i) * step + start;
  values.back() = stop;
  return values;
}

absl::StatusOr<Segment> FindSegment(const SamplingSpec& spec, const Timeline& timeline) {
  Segment segment{0, timeline.frames(), spec.start_seconds, timeline.end};
  const double slack = std::max(kBorderSeconds, timeline.end - timeline.start.back());
  const double wanted_end = spec.end_seconds.value_or(timeline.end);
  if (spec.start_seconds >= timeline.end || wanted_end > timeline.end + slack) {
    return MakeError(Reason::kSegmentOutOfRange,
                     absl::StrFormat("the clip is %.3f s long; the request asks for %.3f s to %s",
                                     timeline.end, spec.start_seconds,
                                     spec.end_seconds ? absl::StrFormat("%.3f s", *spec.end_seconds)
                                                      : std::string("its end")),
                     {{"duration_seconds", absl::StrFormat("%.6f", timeline.end)}});
  }
  segment.end = std::min(wanted_end, timeline.end);
  // Several frames may carry one time; all of them count.
  const double first_start = timeline.start[FrameAt(timeline, spec.start_seconds)];
  segment.first = std::lower_bound(timeline.start.begin(), timeline.start.end(), first_start) -
                  timeline.start.begin();
  const auto past = std::lower_bound(timeline.start.begin(), timeline.start.end(),
                                     segment.end - kBorderSeconds / 10);
  const int64_t last = std::max<int64_t>(segment.first + 1, past - timeline.start.begin());
  segment.frames = last - segment.first;
  return segment;
}

std::vector<int64_t> RuleIndices(const SamplingSpec& spec, int64_t n, int view) {
  const int views = spec.temporal_views;
  switch (spec.rule) {
    case SamplingRule::kK400Sparse:
      return K400SparseIndices(n, spec.frames, view, views);
    case SamplingRule::kK400Dense:
      return views == 1 ? K400DenseValidationIndices(n, spec.frames, spec.frame_step)
                        : K400DenseIndices(n, spec.frames, spec.frame_step, view, views);
    case SamplingRule::kSsv2:
      return views == 1 ? Ssv2ValidationIndices(n, spec.frames)
                        : Ssv2Indices(n, spec.frames, view, views);
    case SamplingRule::kMiddle:
      return MiddleIndices(n, spec.frames);
    case SamplingRule::kUniform:
    case SamplingRule::kWindow:
    case SamplingRule::kAva:
      break;
  }
  return UniformIndices(n, spec.frames);
}

// Rules by index: one window over the segment.
SamplingPlan PlanByIndex(const SamplingSpec& spec, const Segment& segment) {
  SamplingPlan plan;
  plan.windows = {{segment.begin, segment.end}};
  for (int view = 0; view < spec.temporal_views; ++view) {
    PlannedView planned{0, view, RuleIndices(spec, segment.frames, view)};
    for (int64_t& frame : planned.frames) {
      // A negative position counts from the end, as in the released reader.
      if (frame < 0) frame += segment.frames;
      frame = segment.first + std::clamp<int64_t>(frame, 0, segment.frames - 1);
    }
    plan.views.push_back(std::move(planned));
  }
  return plan;
}

SamplingPlan PlanByTime(const SamplingSpec& spec, const Segment& segment,
                        const Timeline& timeline) {
  SamplingPlan plan;
  plan.windows = PlanWindows(segment.begin, segment.end, spec.window_seconds, spec.stride_seconds);
  for (size_t w = 0; w < plan.windows.size(); ++w) {
    const Window& window = plan.windows[w];
    const double length = window.end_seconds - window.start_seconds;
    PlannedView view{static_cast<int>(w), 0, {}};
    for (int k = 0; k < spec.frames; ++k) {
      const double at = window.start_seconds + (k + 0.5) * length / spec.frames;
      view.frames.push_back(
          std::clamp(FrameAt(timeline, at), segment.first, segment.first + segment.frames - 1));
    }
    plan.views.push_back(std::move(view));
  }
  return plan;
}

// The rule `ava`: a window round each keyframe of the grid.
SamplingPlan PlanAva(SamplingSpec spec, const Segment& segment, const Timeline& timeline) {
  if (spec.keyframes) spec.keyframes->seconds.clear();
  SamplingPlan plan;
  for (double seconds : KeyframeTimes(spec, timeline, segment)) {
    plan.views.push_back({static_cast<int>(plan.windows.size()), 0,
                          FramesAround(spec, timeline, segment,
                                       std::clamp(NearestFrame(timeline, seconds), segment.first,
                                                  segment.first + segment.frames - 1))});
    plan.windows.push_back(WindowAround(spec, segment, seconds));
  }
  return plan;
}

// A view for each keyframe: one that the plan has, where it is of the same frames, else another.
absl::Status AddKeyframes(const SamplingSpec& spec, const Segment& segment,
                          const Timeline& timeline, SamplingPlan* plan) {
  std::map<std::vector<int64_t>, int> known;
  for (size_t v = 0; v < plan->views.size(); ++v) {
    known.emplace(plan->views[v].frames, static_cast<int>(v));
  }
  const double slack = timeline.end - timeline.start.back();
  for (double seconds : KeyframeTimes(spec, timeline, segment)) {
    if (seconds > segment.end + slack || seconds < segment.begin - slack) {
      return MakeError(
          Reason::kSegmentOutOfRange,
          absl::StrFormat("boxes are given for %.3f s; the clip, or the part of it that "
                          "is looked at, is from %.3f s to %.3f s",
                          seconds, segment.begin, segment.end),
          {{"duration_seconds", absl::StrFormat("%.6f", timeline.end)},
           {"first_seconds", absl::StrFormat("%.6f", segment.begin)},
           {"last_seconds", absl::StrFormat("%.6f", segment.end)}});
    }
    const int64_t frame = std::clamp(NearestFrame(timeline, seconds), segment.first,
                                     segment.first + segment.frames - 1);
    std::vector<int64_t> frames = FramesAround(spec, timeline, segment, frame);
    const auto [view, added] = known.emplace(frames, static_cast<int>(plan->views.size()));
    if (added) {
      const int window = spec.keyframes->alone ? static_cast<int>(plan->windows.size()) : -1;
      plan->views.push_back({window, 0, std::move(frames)});
      if (window >= 0) plan->windows.push_back(WindowAround(spec, segment, seconds));
    }
    plan->keyframes.push_back({seconds, frame, view->second});
  }
  plan->show_keyframes = spec.keyframes->show;
  return absl::OkStatus();
}

absl::Status CheckKeyframes(const SamplingSpec& spec) {
  const auto invalid = [](const std::string& message) {
    return MakeError(Reason::kFieldInvalid, message);
  };
  const KeyframeSpec& keyframes = *spec.keyframes;
  if (spec.rule != SamplingRule::kAva && spec.rule != SamplingRule::kWindow) {
    return invalid("only the sampling rules ava and window have keyframes");
  }
  if (!(keyframes.interval_seconds >= 1e-3 && keyframes.interval_seconds <= 3600)) {
    return invalid(absl::StrFormat("keyframes are 0.001 to 3600 s apart; the request says %g s",
                                   keyframes.interval_seconds));
  }
  for (double seconds : keyframes.seconds) {
    if (std::isfinite(seconds) && seconds >= 0) continue;
    return invalid(
        absl::StrFormat("a keyframe is at 0 s or later; the request says %g s", seconds));
  }
  if (keyframes.box_frame < 0 || keyframes.box_frame >= spec.frames) {
    return invalid(
        absl::StrFormat("boxes belong to one of the %d frames of a view; found number %d",
                        spec.frames, keyframes.box_frame));
  }
  return absl::OkStatus();
}

// How many views the rule can give, roughly.
double ViewsOf(const SamplingSpec& spec, double length) {
  double views = 0;
  const bool alone = spec.keyframes && spec.keyframes->alone;
  if (spec.rule == SamplingRule::kWindow && !alone) views = length / spec.stride_seconds;
  if (spec.keyframes && !spec.keyframes->seconds.empty()) {
    views += static_cast<double>(spec.keyframes->seconds.size());
  } else if (spec.keyframes || spec.rule == SamplingRule::kAva) {
    const KeyframeSpec keyframes = spec.keyframes.value_or(KeyframeSpec());
    views += length / keyframes.interval_seconds;
  }
  return views;
}

SamplingPlan PlanWindowsOf(const SamplingSpec& spec, const Segment& segment,
                           const Timeline& timeline) {
  if (spec.rule == SamplingRule::kAva) return PlanAva(spec, segment, timeline);
  if (spec.rule == SamplingRule::kWindow &&
      segment.end - segment.begin > spec.single_up_to_seconds + kBorderSeconds) {
    return PlanByTime(spec, segment, timeline);
  }
  return PlanByIndex(spec, segment);
}

}  // namespace

std::vector<int64_t> UniformIndices(int64_t n, int count) {
  std::vector<int64_t> frames;
  for (int64_t k = 0; k < count; ++k) frames.push_back((2 * k + 1) * n / (2 * int64_t{count}));
  return frames;
}

std::vector<int64_t> K400SparseIndices(int64_t n, int count, int view, int views) {
  const double segment = static_cast<double>(n - 1) / count;
  const auto shift = static_cast<int64_t>(segment / (views + 1) * (view + 1));
  std::vector<int64_t> frames;
  for (int i = 0; i < count; ++i) {
    const auto start = static_cast<int64_t>(std::nearbyint(segment * i));
    frames.push_back(std::min(start + shift, n - 1));
  }
  return frames;
}

std::vector<int64_t> K400DenseIndices(int64_t n, int count, int step, int view, int views) {
  const int64_t span = int64_t{count} * step;
  const double slide = std::max(static_cast<double>(n - span) / (views - 1), 0.0);
  const auto start = static_cast<int64_t>(view * slide);
  std::vector<int64_t> frames;
  for (int i = 0; i < count; ++i) {
    const int64_t at = start + int64_t{i} * step;
    frames.push_back(at < n || i == 0 ? at : frames.back());
  }
  return frames;
}

std::vector<int64_t> K400DenseValidationIndices(int64_t n, int count, int step) {
  const int64_t span = int64_t{count} * step;
  std::vector<int64_t> frames;
  if (n <= span) {
    for (double at : Linspace(0, static_cast<double>(n), n / step)) {
      frames.push_back(std::min(static_cast<int64_t>(at), n - 1));
    }
    frames.resize(count, n - 1);
    return frames;
  }
  const int64_t end = (n - span) / 2;
  for (double at : Linspace(static_cast<double>(end - span), static_cast<double>(end), count)) {
    frames.push_back(static_cast<int64_t>(std::min(at, static_cast<double>(end - 1))));
  }
  return frames;
}

std::vector<int64_t> Ssv2Indices(int64_t n, int count, int view, int views) {
  const double tick = static_cast<double>(n) / count;
  std::vector<int64_t> frames;
  for (int i = 0; i < count; ++i) {
    frames.push_back(static_cast<int64_t>(view * tick / views + tick * i));
  }
  return frames;
}

std::vector<int64_t> Ssv2ValidationIndices(int64_t n, int count) {
  const int64_t segment = n / count;
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < count; ++i) {
    frames.push_back(segment > 0 ? segment * i + segment / 2 : std::max<int64_t>(0, i - count + n));
  }
  return frames;
}

std::vector<int64_t> MiddleIndices(int64_t n, int count) {
  const int64_t segments = std::min<int64_t>(n, count);
  const std::vector<double> edges = Linspace(0, static_cast<double>(n), segments + 1);
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < segments; ++i) {
    frames.push_back((static_cast<int64_t>(edges[i]) + static_cast<int64_t>(edges[i + 1]) - 1) / 2);
  }
  frames.resize(count, frames.back());
  return frames;
}

std::vector<int64_t> AvaIndices(int64_t n, int count, int step) {
  const int64_t span = int64_t{count} * step;
  const int64_t start = n / 2 - span / 2 + (step - 1) / 2;
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < count; ++i) {
    frames.push_back(std::clamp<int64_t>(start + i * step, 0, n - 1));
  }
  return frames;
}

std::vector<Window> PlanWindows(double begin, double end, double seconds, double stride) {
  std::vector<Window> windows;
  for (int64_t i = 0; i == 0 || windows.back().end_seconds < end - kBorderSeconds; ++i) {
    const double start = begin + static_cast<double>(i) * stride;
    const double left = end - start;
    if (left >= seconds - kBorderSeconds) {
      windows.push_back({start, std::min(start + seconds, end)});
    } else if (i == 0 || left >= seconds / 2 - kBorderSeconds) {
      windows.push_back({start, end});
    } else {
      if (left > 0) windows.back().end_seconds = end;
      break;
    }
  }
  return windows;
}

std::vector<int64_t> SamplingPlan::DistinctFrames() const {
  std::vector<int64_t> all;
  for (const PlannedView& view : views) {
    all.insert(all.end(), view.frames.begin(), view.frames.end());
  }
  for (const PlannedKeyframe& keyframe : keyframes) {
    if (show_keyframes) all.push_back(keyframe.frame);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

absl::Status ValidateSampling(const SamplingSpec& spec) {
  const auto invalid = [](absl::string_view message) {
    return MakeError(Reason::kFieldInvalid, message);
  };
  if (spec.frames < 1 || spec.frames > kMaxFramesPerView) {
    return invalid(absl::StrFormat("a view has 1 to %d frames; the request asks for %d",
                                   kMaxFramesPerView, spec.frames));
  }
  if (spec.temporal_views < 1 || spec.temporal_views > 1'000) {
    return invalid(absl::StrFormat("there are 1 to 1000 temporal views; the request asks for %d",
                                   spec.temporal_views));
  }
  const bool has_views = spec.rule == SamplingRule::kK400Sparse ||
                         spec.rule == SamplingRule::kK400Dense || spec.rule == SamplingRule::kSsv2;
  if (spec.temporal_views > 1 && !has_views) {
    return invalid(
        "this sampling rule has one temporal view; k400_sparse, k400_dense and ssv2 have more");
  }
  if (spec.frame_step < 1 || spec.frame_step > 10'000) {
    return invalid(
        absl::StrFormat("the frame step is 1 to 10000; the request asks for %d", spec.frame_step));
  }
  // Negated comparisons, so that NaN is refused too.
  if (spec.rule == SamplingRule::kWindow &&
      (!(spec.window_seconds > 0) || !(spec.stride_seconds > 0) ||
       !(spec.single_up_to_seconds >= 0))) {
    return invalid(absl::StrFormat(
        "a window and its stride are longer than 0 s; the request says %g s every %g s",
        spec.window_seconds, spec.stride_seconds));
  }
  if (!(spec.frame_rate >= 0 && spec.frame_rate <= 1e6)) {
    return invalid(
        absl::StrFormat("a frame rate is 0 to 1000000; the request says %g", spec.frame_rate));
  }
  if (spec.keyframes) SCANLINE_RETURN_IF_ERROR(CheckKeyframes(spec));
  if (!(spec.start_seconds >= 0) ||
      (spec.end_seconds.has_value() && !(*spec.end_seconds > spec.start_seconds))) {
    return invalid(absl::StrFormat(
        "a segment starts at 0 s or later and ends after its start; the request says %g s to %g s",
        spec.start_seconds, spec.end_seconds.value_or(0)));
  }
  return absl::OkStatus();
}

absl::StatusOr<SamplingPlan> PlanFrames(const SamplingSpec& spec, const Timeline& timeline) {
  if (timeline.start.empty()) {
    return MakeError(Reason::kNoVideoStream, "the video stream holds no frames");
  }
  SCANLINE_ASSIGN_OR_RETURN(const Segment segment, FindSegment(spec, timeline));
  if (ViewsOf(spec, segment.end - segment.begin) > kMaxViews) {
    return MakeError(
        Reason::kFieldInvalid,
        absl::StrFormat("windows or keyframes of %.3f s at this distance are more than "
                        "%d; take a longer one or a part of the clip",
                        segment.end - segment.begin, kMaxViews),
        {{"limit", absl::StrFormat("%d", kMaxViews)}});
  }
  SamplingPlan plan;
  if (!spec.keyframes || !spec.keyframes->alone) plan = PlanWindowsOf(spec, segment, timeline);
  if (spec.keyframes) {
    SCANLINE_RETURN_IF_ERROR(AddKeyframes(spec, segment, timeline, &plan));
  }
  return plan;
}

}  // namespace scanline
