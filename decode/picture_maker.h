#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clip.h"
#include "decode/color_convert.h"
#include "decode/decode_clip.h"
#include "decode/picture.h"
#include "decode/video_reader.h"

namespace scanline {

// A frame's size and turn, as SourceInfo tells them.
struct PictureSource {
  int width = 0;
  int height = 0;
  int rotation_ccw = 0;
};

// Turns decoded frames into what the model sees. Keeps its buffers from frame to frame.
class PictureMaker {
 public:
  // Both are borrowed. `watch` may be empty.
  PictureMaker(const FrameSpec& spec, int64_t max_pixels, const FrameWatch& watch)
      : spec_(spec), max_pixels_(max_pixels), watch_(watch) {}

  // Converts and turns a frame, and shows it.
  absl::StatusOr<PictureSource> Load(const WantedFrame& wanted, bool keyframe);

  // Of the frame loaded last: spec.spatial_views pictures of `shape`, one after the other in `out`.
  absl::Status Store(const PictureShape& shape, uint8_t* out) const {
    return MakePictures(spec_, loaded_, shape, out);
  }

  // CPU seconds that the watch has taken since the last call.
  double TakeWatchSeconds() { return std::exchange(watch_seconds_, 0); }

 private:
  absl::StatusOr<RgbView> Upright(const WantedFrame& wanted);

  const FrameSpec& spec_;
  int64_t max_pixels_;
  const FrameWatch& watch_;
  ColorConverter colors_;
  RgbImage stored_;
  std::vector<uint8_t> stretched_;
  RgbImage upright_;
  RgbView loaded_;
  double watch_seconds_ = 0;
};

}  // namespace scanline
