#pragma once

#include <vector>

#include "model/person/person_box.h"

namespace scanline {

// Lengths are in heights of the person.
struct TrackOptions {
  double aspect = 1;           // width of the picture by its height
  double max_speed = 1.2;      // of somebody seen once only, a second
  double waver = 0.1;          // standard deviation of a box's centre from its person's
  double unrest = 0.1;         // variance that the speed gains a second
  double size_waver = 0.2;     // standard deviation of ln(height), one second after the other
  double strangers = 0.01;     // boxes of somebody new in a square of one height's sides
  double confidence = 0.7;     // of being the same person, or of not being seen
  double max_gap_seconds = 3;  // a person not seen for longer is a new one afterwards
};

// Links the people of pictures that follow each other in time. A box gets an older id only where
// that is clearly more probable than all else; where it could be one of two people it is somebody
// new, so that an id stays with its person. Pure of clock and picture: the same boxes give the same
// ids.
class TrackLinker {
 public:
  explicit TrackLinker(const TrackOptions& options) : options_(options) {}

  // One id a box, from 1 in the order of first sight, never used again; no two boxes get one id.
  // `seconds` does not decrease from call to call.
  //   Motion       constant velocity with white acceleration noise (a Kalman filter per axis).
  //                Somebody seen once goes anywhere, at any speed up to max_speed as probably.
  //   Association  the probability that a box is of a track, of all ways to give boxes to tracks
  //                (model/person/association.h).
  // A track that is neither followed with confidence nor missed with confidence ends.
  std::vector<int> Link(double seconds, const std::vector<PersonBox>& boxes);

 private:
  struct Track {
    int id = 0;
    double seconds = 0;  // of the last sight
    double x = 0;        // of the centre, in heights of the picture
    double y = 0;
    double x_speed = 0;  // a second
    double y_speed = 0;
    double height = 0;  // of the person, in heights of the picture
    // Covariance of place and speed along one axis, in heights of the person.
    double place_variance = 0;
    double covariance = 0;
    double speed_variance = 0;
    bool moving = false;  // seen twice, so that the speed is known
  };

  double CentreX(const PersonBox& box) const;  // in heights of the picture
  Track Begun(int id, double seconds, const PersonBox& box) const;
  Track Predicted(Track track, double seconds) const;
  double Likelihood(const Track& track, double seconds, const PersonBox& box) const;
  void Follow(Track* track, double seconds, const PersonBox& box) const;

  TrackOptions options_;
  std::vector<Track> tracks_;  // by id
  int next_id_ = 1;
};

}  // namespace scanline
