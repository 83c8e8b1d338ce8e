#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "base/clip.h"
#include "decode/decode_clip.h"
#include "decode/rgb_image.h"

namespace scanline {

// The folder that `--out` fills: frame_00.npy ... in the order of the views (the first spatial view
// of each), input.npy, sheet.png. Full-size frames are written as they come, so that they need no
// memory.
class FrameFolder {
 public:
  explicit FrameFolder(std::string path) : path_(std::move(path)) {}

  absl::Status Create();
  // For DecodeClipWatched.
  absl::Status Keep(const FullFrame& frame);
  // Gives the kept frames their names and writes the rest.
  absl::Status Finish(const Clip& clip);

  static std::string FrameName(size_t place);

 private:
  std::string KeptPath(int64_t index) const;

  std::string path_;
  std::map<int64_t, RgbImage> thumbnails_;  // by index in display order
};

}  // namespace scanline
