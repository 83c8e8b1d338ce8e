#include "client/formats/looks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace scanline::formats {
namespace {

using Person = std::pair<int64_t, std::array<double, 4>>;

Person PersonOf(const Detection& d) {
  if (d.track_id != 0) return {d.track_id, {}};
  return {0, {d.x0, d.y0, d.x1, d.y1}};
}

void KeepEachOnce(Look& look) {
  const auto away = [&](const Detection* d) { return std::abs(d->seconds - look.seconds); };
  std::stable_sort(look.people.begin(), look.people.end(),
                   [&](const Detection* a, const Detection* b) { return away(a) < away(b); });
  std::set<Person> seen;
  const auto again = [&](const Detection* d) { return !seen.insert(PersonOf(*d)).second; };
  look.people.erase(std::remove_if(look.people.begin(), look.people.end(), again),
                    look.people.end());
}

}  // namespace

std::map<int64_t, Look> LooksOf(const DetectedVideo& video) {
  std::map<int64_t, Look> looks;
  for (const Keyframe& keyframe : video.keyframes) {
    const auto [place, is_new] = looks.emplace(keyframe.frame_index, Look{keyframe.seconds, {}});
    const auto away = [&](double seconds) { return std::abs(seconds - keyframe.frame_seconds); };
    if (!is_new && away(keyframe.seconds) < away(place->second.seconds)) {
      place->second.seconds = keyframe.seconds;
    }
  }
  for (const Detection& detection : video.detections) {
    looks.emplace(detection.frame_index, Look{detection.seconds, {}})
        .first->second.people.push_back(&detection);
  }
  for (auto& [frame, look] : looks) KeepEachOnce(look);
  return looks;
}

}  // namespace scanline::formats
