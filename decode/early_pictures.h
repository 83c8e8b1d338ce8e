#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "decode/byte_input.h"
#include "decode/decode_clip.h"
#include "decode/picture_maker.h"
#include "decode/timeline.h"
#include "decode/video_reader.h"

namespace scanline {

// Pictures of a file that is still arriving, decoded in order as its bytes come, so that little is
// left to do after the last byte. Which frames the rule will want is foreseen: by the `window` rule
// from the times alone, by the others from the number of frames that the container declares. It is
// a forecast only: the reading of the whole file (VideoReader) decides and judges, takes the
// pictures that it wants after all, and decodes what is missing. Whatever goes wrong here gives
// the forecast up, without an error.
class EarlyPictures {
 public:
  struct Picture {
    SampledFrame sampled;
    PictureSource source;
    PictureShape shape;
    bool keyframe = false;        // shown as one
    std::vector<uint8_t> pixels;  // [spatial views] of `shape`
  };

  // Reads `input` to its end, or gives up: on damage, timestamps that do not rise, a container or a
  // rule that tells too little, half of the CPU budget, or the limits.
  static EarlyPictures Collect(ByteInput& input, const FrameSpec& spec, const DecodeLimits& limits,
                               const Cancel& cancel, const FrameWatch& watch = {});

  // Whether these are frames of what `reader` has read: as many packets, the same frames at the
  // same times. A reader that could only guess its timeline takes the one counted here.
  bool Fits(VideoReader& reader) const;

  // The picture of a frame by its number in display order; null: not made.
  const Picture* Find(int64_t index) const;

  void Clear() { pictures_.clear(); }
  int64_t frames_walked() const { return frames_walked_; }
  int64_t frames_converted() const { return frames_converted_; }
  double watch_seconds() const { return watch_seconds_; }  // CPU

 private:
  absl::Status Run(ByteInput& input, const FrameSpec& spec, const DecodeLimits& limits,
                   const Cancel& cancel, const FrameWatch& watch);

  bool whole_ = false;  // came to the end undamaged
  int64_t packets_ = 0;
  int64_t first_pts_ = kNoPts;
  Timeline timeline_;
  std::map<int64_t, Picture> pictures_;
  int64_t frames_walked_ = 0;
  int64_t frames_converted_ = 0;
  double watch_seconds_ = 0;
};

// Whether the `window` rule of `spec`, on a clip that goes on and on, looks at a frame that is on
// screen from `start` to `end` (seconds). Pure.
bool WindowRuleWants(const SamplingSpec& spec, double start, double end);

}  // namespace scanline
