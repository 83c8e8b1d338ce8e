#pragma once

#include <vector>

#include "model/person/person_box.h"

namespace scanline {

struct TrackOptions {
  double aspect = 1;           // width of the picture by its height
  double max_speed = 1.2;      // how far off the expected place, in heights of the person a second
  double max_size_ratio = 2;   // of heights, from one picture to the next
  double max_gap_seconds = 3;  // a person not seen for longer is a new one afterwards
};

// Links the people of pictures that follow each other in time: who stands where somebody was
// expected, by overlap and distance, is the same person. Pure of clock and picture, so the same
// boxes give the same ids.
class TrackLinker {
 public:
  explicit TrackLinker(const TrackOptions& options) : options_(options) {}

  // One id a box, from 1 in the order of first sight, never used again. Everyone seen before is
  // expected to go on at a constant velocity. Pairs are taken best first; no two boxes get one id.
  // `seconds` does not decrease from call to call.
  std::vector<int> Link(double seconds, const std::vector<PersonBox>& boxes);

 private:
  struct Track {
    int id = 0;
    double seconds = 0;  // of the last sight
    PersonBox box;       // there
    double x_speed = 0;  // of the centre, a second
    double y_speed = 0;
    bool moving = false;  // seen twice, so that the speed is known
  };

  // How well `box` continues `track`; 0: not at all.
  double Affinity(const Track& track, double seconds, const PersonBox& box) const;
  void Follow(Track* track, double seconds, const PersonBox& box) const;

  TrackOptions options_;
  std::vector<Track> tracks_;  // by id
  int next_id_ = 1;
};

}  // namespace scanline
