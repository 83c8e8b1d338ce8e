#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "client/render/frames_at.h"
#include "client/render/palette.h"

namespace scanline::testing {

// A folder that goes with its test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "scanline-render-XXXXXX").string();
    SCANLINE_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

inline render::Color PixelAt(const render::TimedFrame& picture, int x, int y) {
  const uint8_t* rgb = &picture.rgb[3 * (static_cast<size_t>(y) * picture.width + x)];
  return {rgb[0], rgb[1], rgb[2]};
}

// The largest difference of a channel.
inline int Distance(render::Color a, render::Color b) {
  return std::max(
      {std::abs(a.red - b.red), std::abs(a.green - b.green), std::abs(a.blue - b.blue)});
}

// The frames of a file at these times (a PNG has one, at 0), at full size.
inline std::vector<render::TimedFrame> ReadFrames(const std::string& path,
                                                  const std::vector<double>& seconds = {0}) {
  render::FramesAtOptions options;
  options.max_side = 1 << 20;
  auto frames = render::FramesAt(path, seconds, options);
  if (!frames.ok()) throw std::runtime_error(std::string(frames.status().message()));
  return *std::move(frames);
}

}  // namespace scanline::testing
