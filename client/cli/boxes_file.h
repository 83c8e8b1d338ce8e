#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The boxes of `detect --boxes`: CSV rows time,x1,y1,x2,y2, seconds from the first picture and
// sides in 0..1 of the displayed one. Every time is given or none is (an empty field), then a box
// counts at every keyframe. A first row of these names is left out. Errors name the line: a row of
// another length, what is no number or outside of the picture, sides the wrong way round, a time
// below 0; and a text without a box.
absl::StatusOr<std::vector<v1::BoundingBox>> ParseBoxes(absl::string_view text,
                                                        absl::string_view what);

absl::StatusOr<std::vector<v1::BoundingBox>> ReadBoxes(const std::string& file);

}  // namespace scanline::cli
