#include "model/person/association.h"

#include <algorithm>
#include <cmath>

namespace scanline {
namespace {

constexpr int kMaxRounds = 200;
constexpr double kSettled = 1e-6;

}  // namespace

Association Associate(const std::vector<Candidate>& candidates, size_t tracks, size_t boxes) {
  const size_t n = candidates.size();
  std::vector<double> to_box(n, 0), to_track(n, 1);  // messages
  std::vector<double> of_track, of_box;              // sums; 1 stands for missed, and for new
  const auto sum_tracks = [&] {
    of_track.assign(tracks, 1);
    for (size_t i = 0; i < n; ++i) {
      of_track[candidates[i].track] += candidates[i].weight * to_track[i];
    }
  };
  double change = 1;
  for (int round = 0; round < kMaxRounds && change > kSettled; ++round) {
    sum_tracks();
    of_box.assign(boxes, 1);
    for (size_t i = 0; i < n; ++i) {
      const auto [track, box, weight] = candidates[i];
      to_box[i] = weight / std::max(1.0, of_track[track] - weight * to_track[i]);
      of_box[box] += to_box[i];
    }
    change = 0;
    for (size_t i = 0; i < n; ++i) {
      const double message = 1 / std::max(1.0, of_box[candidates[i].box] - to_box[i]);
      change = std::max(change, std::abs(message - to_track[i]));
      to_track[i] = message;
    }
  }
  sum_tracks();
  Association association;
  // As the track sees it and as the box does: the same where all has settled.
  for (size_t i = 0; i < n; ++i) {
    const auto [track, box, weight] = candidates[i];
    association.together.push_back(
        std::min(weight * to_track[i] / of_track[track], to_box[i] / of_box[box]));
  }
  for (double sum : of_track) association.missed.push_back(1 / sum);
  return association;
}

}  // namespace scanline
