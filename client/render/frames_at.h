#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cancel.h"
#include "decode/decode_clip.h"
#include "decode/timeline.h"

namespace scanline::render {

// A picture of a video: upright RGB with square pixels, rows without gaps.
struct TimedFrame {
  double seconds = 0;  // when it comes on screen, from the first frame
  int64_t index = 0;   // in display order
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

// Which frame a time means.
enum class FramePick {
  kOnScreen,  // that is on screen then; before the first and after the last: that one
  kNearest,   // that comes on screen nearest to it, as a look at the clip takes it
};

struct FramesAtOptions {
  int max_side = 320;  // of the long side; smaller pictures stay as they are
  FramePick pick = FramePick::kOnScreen;
  DecodeLimits limits;
};

// The frames at `seconds` (from the first frame, in any order), one each, in the order asked for.
// Decodes the file once, only what is needed. Damage does not stop it as long as the frames can be
// had. Errors: those of reading the file and of decode::DecodeClip.
absl::StatusOr<std::vector<TimedFrame>> FramesAt(const std::string& path,
                                                 absl::Span<const double> seconds,
                                                 const FramesAtOptions& options = {},
                                                 const Cancel& cancel = Cancel());

// When each frame of a file comes on screen, all of them counted as a decoder gives them. Errors as
// above.
absl::StatusOr<Timeline> TimelineAt(const std::string& path, const DecodeLimits& limits,
                                    const Cancel& cancel = Cancel());

}  // namespace scanline::render
