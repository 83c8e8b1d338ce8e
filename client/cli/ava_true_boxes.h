#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/cli/ava_score.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The people of `video`, by time: each once at each keyframe, where the truth has a row for each
// thing that they do.
std::vector<v1::BoundingBox> TrueBoxesOf(absl::Span<const AvaAction> truths,
                                         const std::string& video);

// How many of `boxes`, which are not empty and by time, go into a request of `most` (1 or more):
// whole keyframes, so that each is decoded and run once; of a keyframe that has more than `most` as
// many as fit.
size_t BoxesOfARequest(absl::Span<const v1::BoundingBox> boxes, size_t most);

}  // namespace scanline::cli
