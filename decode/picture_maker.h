#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clip.h"
#include "decode/color_convert.h"
#include "decode/decode_clip.h"
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
  using Watch = std::function<absl::Status(const FullFrame&)>;

  // Both are borrowed. `watch` may be empty.
  PictureMaker(const FrameSpec& spec, int64_t max_pixels, const Watch& watch)
      : spec_(spec), max_pixels_(max_pixels), watch_(watch) {}

  // spec.spatial_views pictures of [size, size, 3], one after the other in `out`.
  absl::StatusOr<PictureSource> Make(const WantedFrame& wanted, uint8_t* out);

 private:
  absl::StatusOr<RgbView> Upright(const WantedFrame& wanted);

  const FrameSpec& spec_;
  int64_t max_pixels_;
  const Watch& watch_;
  ColorConverter colors_;
  RgbImage stored_;
  std::vector<uint8_t> stretched_;
  RgbImage upright_;
};

}  // namespace scanline
