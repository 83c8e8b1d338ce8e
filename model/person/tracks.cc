#include "model/person/tracks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/person/nms.h"

namespace scanline {
namespace {

double CentreX(const PersonBox& box) { return (box.x_min + box.x_max) / 2.0; }
double CentreY(const PersonBox& box) { return (box.y_min + box.y_max) / 2.0; }
double Height(const PersonBox& box) { return box.y_max - box.y_min; }

PersonBox Shifted(PersonBox box, double x, double y) {
  box.x_min += static_cast<float>(x);
  box.x_max += static_cast<float>(x);
  box.y_min += static_cast<float>(y);
  box.y_max += static_cast<float>(y);
  return box;
}

struct Pair {
  double affinity;
  size_t track;
  size_t box;
};

}  // namespace

double TrackLinker::Affinity(const Track& track, double seconds, const PersonBox& box) const {
  const double height = std::max(Height(track.box), Height(box));
  const double smaller = std::min(Height(track.box), Height(box));
  if (!(smaller > 0) || height > options_.max_size_ratio * smaller) return 0;
  const double gap = seconds - track.seconds;
  const PersonBox expected = Shifted(track.box, track.x_speed * gap, track.y_speed * gap);
  const double x = (CentreX(box) - CentreX(expected)) * options_.aspect;
  const double y = CentreY(box) - CentreY(expected);
  // Half a height is what a box wavers by itself.
  const double reach = (0.5 + options_.max_speed * gap) * height;
  const double nearness = 1 - std::hypot(x, y) / reach;
  return nearness > 0 ? nearness + IntersectionOverUnion(expected, box) : 0;
}

void TrackLinker::Follow(Track* track, double seconds, const PersonBox& box) const {
  const double gap = seconds - track->seconds;
  if (gap > 0) {
    const double x_speed = (CentreX(box) - CentreX(track->box)) / gap;
    const double y_speed = (CentreY(box) - CentreY(track->box)) / gap;
    // The mean with the speed before, since a box wavers.
    track->x_speed = track->moving ? (track->x_speed + x_speed) / 2 : x_speed;
    track->y_speed = track->moving ? (track->y_speed + y_speed) / 2 : y_speed;
    track->moving = true;
  }
  track->seconds = seconds;
  track->box = box;
}

std::vector<int> TrackLinker::Link(double seconds, const std::vector<PersonBox>& boxes) {
  tracks_.erase(std::remove_if(tracks_.begin(), tracks_.end(),
                               [&](const Track& track) {
                                 return seconds - track.seconds > options_.max_gap_seconds;
                               }),
                tracks_.end());
  std::vector<Pair> pairs;
  for (size_t t = 0; t < tracks_.size(); ++t) {
    for (size_t b = 0; b < boxes.size(); ++b) {
      const double affinity = Affinity(tracks_[t], seconds, boxes[b]);
      if (affinity > 0) pairs.push_back({affinity, t, b});
    }
  }
  // Stable: of equal pairs the older person and the better box come first.
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.affinity > b.affinity; });
  std::vector<int> ids(boxes.size(), 0);
  std::vector<bool> taken(tracks_.size(), false);
  for (const Pair& pair : pairs) {
    if (taken[pair.track] || ids[pair.box] != 0) continue;
    taken[pair.track] = true;
    ids[pair.box] = tracks_[pair.track].id;
    Follow(&tracks_[pair.track], seconds, boxes[pair.box]);
  }
  for (size_t b = 0; b < boxes.size(); ++b) {
    if (ids[b] != 0) continue;
    ids[b] = next_id_++;
    tracks_.push_back({.id = ids[b], .seconds = seconds, .box = boxes[b]});
  }
  return ids;
}

}  // namespace scanline
