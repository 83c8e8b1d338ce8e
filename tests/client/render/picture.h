#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "client/render/frames_at.h"
#include "client/render/palette.h"
#include "tests/support/temp_folder.h"

namespace scanline::testing {

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
