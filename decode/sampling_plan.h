#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clip.h"
#include "decode/timeline.h"

namespace scanline {

// The sampling rules as arithmetic: `n` displayed frames in, `count` indices in display order out.
// n and count are at least 1. Where n < count frames repeat as the arithmetic gives them. Rounding
// is NumPy's: halves to the even neighbour. Origins: the dataset classes of the VideoMamba release.

// floor((k + 0.5) * n / count): the middle of `count` equal segments.
std::vector<int64_t> UniformIndices(int64_t n, int count);

// Kinetics, sparse: seg = (n - 1) / count, round(seg * i) + int(seg / (views + 1) * (view + 1)), at
// most n - 1. One view is the validation rule.
std::vector<int64_t> K400SparseIndices(int64_t n, int count, int view, int views);

// Kinetics, dense, view of at least two: every `step`-th frame of a span of count * step that
// slides from the first to the last; a short clip repeats its last position.
std::vector<int64_t> K400DenseIndices(int64_t n, int count, int step, int view, int views);

// Kinetics, dense, validation. As released it places the span one span too early, so that positions
// may be negative (counted from the end by the released reader, and by PlanFrames).
std::vector<int64_t> K400DenseValidationIndices(int64_t n, int count, int step);

// Something-Something V2, view of at least two: int(view * tick / views + tick * i), tick = n /
// count.
std::vector<int64_t> Ssv2Indices(int64_t n, int count, int view, int views);

// Something-Something V2, validation: the middle of segments of floor(n / count) frames; a clip
// shorter than `count` is filled up with its first frame in front.
std::vector<int64_t> Ssv2ValidationIndices(int64_t n, int count);

// Multimodal: the middle of min(count, n) segments, the last frame repeated.
std::vector<int64_t> MiddleIndices(int64_t n, int count);

// AVA: every `step`-th frame of the count * step frames in the middle of n, clamped.
std::vector<int64_t> AvaIndices(int64_t n, int count, int step);

// The stretches that the `window` rule looks at, within [begin, end] seconds: one of `seconds`
// every `stride`, until one reaches the end. The last is cut at the end where at least half of it
// is left, else the one before it is drawn out to the end. Always at least one.
std::vector<Window> PlanWindows(double begin, double end, double seconds, double stride);

// One forward pass: which frames of the video, in order.
struct PlannedView {
  int window = 0;  // index into SamplingPlan::windows
  int temporal_view = 0;
  std::vector<int64_t> frames;

  bool operator==(const PlannedView&) const = default;
};

struct PlannedKeyframe {
  double seconds = 0;  // as asked for
  int64_t frame = 0;   // the one nearest to it
  int view = 0;        // index into SamplingPlan::views

  bool operator==(const PlannedKeyframe&) const = default;
};

struct SamplingPlan {
  std::vector<PlannedView> views;  // window-major; at the end those of no window (-1)
  std::vector<Window> windows;     // at least one; seconds from the first frame
  std::vector<PlannedKeyframe> keyframes;
  bool show_keyframes = false;  // their frames are decoded, too

  // The frames to decode: ascending, each once.
  std::vector<int64_t> DistinctFrames() const;
};

// FIELD_INVALID where the rule's parameters cannot be meant.
absl::Status ValidateSampling(const SamplingSpec& spec);

// Applies the rule of a valid `spec` to a video. Only frames on screen in [start_seconds,
// end_seconds) count: rules that need n see just those. Errors: SEGMENT_OUT_OF_RANGE, and
// FIELD_INVALID where it would take more than kMaxViews views.
absl::StatusOr<SamplingPlan> PlanFrames(const SamplingSpec& spec, const Timeline& timeline);

inline constexpr int kMaxViews = 50'000;
inline constexpr int kMaxFramesPerView = 1'024;

}  // namespace scanline
