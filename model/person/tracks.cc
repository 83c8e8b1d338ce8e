#include "model/person/tracks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "model/person/association.h"

namespace scanline {
namespace {

constexpr double kGate = 9.21;  // squared distance within which 99 % of a plane's Gaussian lies

double CentreY(const PersonBox& box) { return (box.y_min + box.y_max) / 2.0; }
double Height(const PersonBox& box) { return box.y_max - box.y_min; }
double Square(double x) { return x * x; }

}  // namespace

double TrackLinker::CentreX(const PersonBox& box) const {
  return (box.x_min + box.x_max) / 2.0 * options_.aspect;
}

TrackLinker::Track TrackLinker::Predicted(Track track, double seconds) const {
  const double gap = seconds - track.seconds;
  track.seconds = seconds;
  track.x += track.x_speed * gap;
  track.y += track.y_speed * gap;
  track.place_variance += 2 * gap * track.covariance + gap * gap * track.speed_variance +
                          options_.unrest * gap * gap * gap / 3;
  track.covariance += gap * track.speed_variance + options_.unrest * gap * gap / 2;
  track.speed_variance += options_.unrest * gap;
  return track;
}

// Of a box at that place and of that height, a square of one height's sides; 0: out of reach.
double TrackLinker::Likelihood(const Track& track, double seconds, const PersonBox& box) const {
  if (!(track.height > 0 && Height(box) > 0)) return 0;
  const double gap = seconds - track.seconds;
  const Track expected = Predicted(track, seconds);
  const double squared = (Square(CentreX(box) - expected.x) + Square(CentreY(box) - expected.y)) /
                         Square(track.height);
  const double size = Square(std::log(Height(box) / track.height) / options_.size_waver);
  const double of_size = std::exp(-size / (2 * (1 + gap)));
  if (track.moving) {
    const double variance = expected.place_variance + Square(options_.waver);
    if (squared > kGate * variance) return 0;
    return of_size * std::exp(-squared / (2 * variance)) / (2 * std::numbers::pi * variance);
  }
  // Any direction and any distance are as probable, so the density falls with the distance.
  const double reach = options_.max_speed * gap + 2 * options_.waver;
  if (squared > Square(reach)) return 0;
  const double distance = std::sqrt(squared + Square(options_.waver));
  return of_size / (2 * std::numbers::pi * reach * distance);
}

TrackLinker::Track TrackLinker::Begun(int id, double seconds, const PersonBox& box) const {
  return {.id = id,
          .seconds = seconds,
          .x = CentreX(box),
          .y = CentreY(box),
          .height = Height(box),
          .place_variance = Square(options_.waver),
          // Of one axis, where speeds up to the highest are as probable in any direction.
          .speed_variance = Square(options_.max_speed) / 6};
}

void TrackLinker::Follow(Track* track, double seconds, const PersonBox& box) const {
  *track = Predicted(*track, seconds);
  const double variance = track->place_variance + Square(options_.waver);
  const double place_gain = track->place_variance / variance;
  const double speed_gain = track->covariance / variance;
  const double x_error = CentreX(box) - track->x;
  const double y_error = CentreY(box) - track->y;
  track->x += place_gain * x_error;
  track->y += place_gain * y_error;
  track->x_speed += speed_gain * x_error;
  track->y_speed += speed_gain * y_error;
  track->speed_variance -= speed_gain * track->covariance;
  track->place_variance *= 1 - place_gain;
  track->covariance *= 1 - place_gain;
  track->height = std::sqrt(track->height * Height(box));
  track->moving = true;
}

std::vector<int> TrackLinker::Link(double seconds, const std::vector<PersonBox>& boxes) {
  std::erase_if(tracks_, [&](const Track& track) {
    return seconds - track.seconds > options_.max_gap_seconds;
  });
  std::vector<Candidate> candidates;
  for (size_t t = 0; t < tracks_.size(); ++t) {
    for (size_t b = 0; b < boxes.size(); ++b) {
      const double likelihood = Likelihood(tracks_[t], seconds, boxes[b]);
      if (likelihood > 0) candidates.push_back({t, b, likelihood / options_.strangers});
    }
  }
  const Association association = Associate(candidates, tracks_.size(), boxes.size());
  std::vector<int> ids(boxes.size(), 0);
  std::vector<bool> goes_on(tracks_.size(), false);
  for (size_t t = 0; t < tracks_.size(); ++t) {
    goes_on[t] = association.missed[t] > options_.confidence;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (association.together[i] <= options_.confidence) continue;
    Track& track = tracks_[candidates[i].track];
    ids[candidates[i].box] = track.id;
    goes_on[candidates[i].track] = true;
    Follow(&track, seconds, boxes[candidates[i].box]);
  }
  std::vector<Track> going_on;
  for (size_t t = 0; t < tracks_.size(); ++t) {
    if (goes_on[t]) going_on.push_back(tracks_[t]);
  }
  tracks_ = std::move(going_on);
  for (size_t b = 0; b < boxes.size(); ++b) {
    if (ids[b] != 0) continue;
    ids[b] = next_id_++;
    tracks_.push_back(Begun(ids[b], seconds, boxes[b]));
  }
  return ids;
}

}  // namespace scanline
