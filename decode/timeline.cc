#include "decode/timeline.h"

#include <algorithm>

namespace scanline {
namespace {
// Two ways of computing one instant differ by less; frames are further apart.
constexpr double kSameInstant = 1e-7;

// A damaged stamp: leaps ahead for one frame.
bool IsOutOfLine(absl::Span<const int64_t> pts, size_t i) {
  return i > 0 && i + 1 < pts.size() && pts[i - 1] != kNoPts && pts[i + 1] != kNoPts &&
         pts[i] > pts[i + 1] && pts[i + 1] >= pts[i - 1];
}

}  // namespace

Timeline BuildTimeline(absl::Span<const int64_t> pts, double tick_seconds, double default_step) {
  Timeline timeline;
  if (pts.empty()) return timeline;
  timeline.start.reserve(pts.size());

  size_t first = 0;
  while (first < pts.size() && pts[first] == kNoPts) ++first;
  if (first == pts.size()) first = 0;  // none at all: an even grid
  for (size_t i = 0; i < first; ++i)
    timeline.start.push_back(static_cast<double>(i) * default_step);

  double step = default_step;
  double at = static_cast<double>(first) * default_step;
  timeline.start.push_back(at);
  int64_t known = pts[first];  // the last known timestamp, which was at `known_at`
  double known_at = at;
  for (size_t i = first + 1; i < pts.size(); ++i) {
    double next = at + step;
    const bool stamped = pts[i] != kNoPts && !IsOutOfLine(pts, i);
    if (stamped && known != kNoPts && pts[i] >= known) {
      // In double: hostile timestamps may lie further apart than int64 holds.
      next = known_at + (static_cast<double>(pts[i]) - static_cast<double>(known)) * tick_seconds;
      next = std::max(next, at);
    }
    if (stamped) {
      known = pts[i];
      known_at = next;
    }
    if (next > at) step = next - at;
    at = next;
    timeline.start.push_back(at);
  }
  timeline.end = at + step;
  return timeline;
}

int64_t FrameAt(const Timeline& timeline, double seconds) {
  const auto after =
      std::upper_bound(timeline.start.begin(), timeline.start.end(), seconds + kSameInstant);
  return std::max<int64_t>(0, after - timeline.start.begin() - 1);
}

}  // namespace scanline
