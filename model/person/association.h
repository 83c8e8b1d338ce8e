#pragma once

#include <cstddef>
#include <vector>

namespace scanline {

// A box that may be of a track.
struct Candidate {
  size_t track = 0;
  size_t box = 0;
  double weight = 0;  // more than 0: likelihood of that, by that of the box being somebody new
};

struct Association {
  std::vector<double> together;  // one a candidate: the probability that its box is of its track
  std::vector<double> missed;    // one a track: that none is
};

// Of all ways to give boxes to tracks, each to at most one, where a way is as probable as the
// product of its weights. By belief propagation (Williams and Lau, "Approximate evaluation of
// marginal association probabilities with belief propagation", 2014): exact where candidates form
// no circle; elsewhere close to it on the average, and too sure of the better of two ways that
// exchange boxes (0.98 for 0.73). Over the candidates of a track, and of a box, `together` sums to
// at most 1.
Association Associate(const std::vector<Candidate>& candidates, size_t tracks, size_t boxes);

}  // namespace scanline
