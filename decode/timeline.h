#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace scanline {

// A frame without a timestamp (libav's AV_NOPTS_VALUE).
inline constexpr int64_t kNoPts = std::numeric_limits<int64_t>::min();

// When each displayed frame comes on screen.
struct Timeline {
  std::vector<double> start;  // seconds from the first frame, display order, never falling
  double end = 0;             // the last frame leaves: its start plus the last step

  int64_t frames() const { return static_cast<int64_t>(start.size()); }
};

// A timeline from the timestamps of the displayed frames (display order, in ticks of
// `tick_seconds`). Where a timestamp is missing the last step goes on; before the first known one
// it is counted backwards. Where time falls back (joined files) the second part follows the first.
// Gaps stay. `default_step`: seconds a frame where the timestamps do not tell.
Timeline BuildTimeline(absl::Span<const int64_t> pts, double tick_seconds, double default_step);

// The frame on screen at `seconds`: the last that came on by then, or the first.
int64_t FrameAt(const Timeline& timeline, double seconds);

}  // namespace scanline
