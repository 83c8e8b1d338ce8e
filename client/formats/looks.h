#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "client/formats/detections.h"

namespace scanline::formats {

// What there is to say of one decoded frame.
struct Look {
  double seconds = 0;                    // of the look
  std::vector<const Detection*> people;  // each of them once
};

// The frames that were looked at or that a detection names, by their number. Of several looks at
// one frame (a slow clip, a gap in its times) the nearest to it counts, of two as near the earlier;
// a person whom only another one has is kept. Those who are not linked are the same person where
// their boxes are the same. Points into `video`.
std::map<int64_t, Look> LooksOf(const DetectedVideo& video);

}  // namespace scanline::formats
