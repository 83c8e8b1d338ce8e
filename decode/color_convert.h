#pragma once

#include "absl/status/status.h"
#include "decode/libav.h"
#include "decode/rgb_image.h"

namespace scanline {

// Decoded frames to RGB at full size, by libswscale with the settings of the ffmpeg program
// (`-pix_fmt rgb24` gives the same bytes). Matrix and range are those of each frame; untagged ones
// are BT.601, as the readers of the training data took them. No tone mapping; alpha is dropped.
class ColorConverter {
 public:
  // Rebuilds itself where size, format, matrix or range change. VIDEO_CORRUPT or CODEC_UNSUPPORTED
  // for a frame that cannot be converted.
  absl::Status Convert(const AVFrame& frame, RgbImage& out);

 private:
  struct Source {
    int width = 0;
    int height = 0;
    int format = -1;
    int colorspace = 0;
    bool full_range = false;

    bool operator==(const Source&) const = default;
  };
  absl::Status Rebuild(const Source& source);

  Source source_;
  SwsPtr sws_;
};

}  // namespace scanline
