#include "model/patches.h"

#include "base/check.h"

namespace scanline {
namespace {

// value(channel, frame, row, column) -> float.
template <typename Value>
void FillPatches(const BackboneConfig& config, const Value& value, float* to) {
  const int patch = config.patch;
  for (int step = 0; step < config.steps(); ++step) {
    for (int cell = 0; cell < config.cells(); ++cell) {
      const int top = cell / config.columns() * patch;
      const int left = cell % config.columns() * patch;
      for (int channel = 0; channel < 3; ++channel) {
        for (int k = 0; k < config.tubelet; ++k) {
          const int frame = step * config.tubelet + k;
          for (int y = top; y < top + patch; ++y) {
            for (int x = left; x < left + patch; ++x) *to++ = value(channel, frame, y, x);
          }
        }
      }
    }
  }
}

}  // namespace

int64_t PatchLength(const BackboneConfig& config) {
  return int64_t{3} * config.tubelet * config.patch * config.patch;
}

void PatchesFromPictures(absl::Span<const uint8_t* const> pictures, const PixelNorm& norm,
                         const BackboneConfig& config, float* rows, PictureArea area) {
  SCANLINE_CHECK(static_cast<int>(pictures.size()) == config.frames);
  const int width = config.columns() * config.patch;
  const auto value = [&](int channel, int frame, int y, int x) {
    const size_t pixel = static_cast<size_t>(y) * width + x;
    return static_cast<float>(pictures[frame][pixel * 3 + channel]) - kPixelCentre;
  };
  const int height = config.rows() * config.patch;
  if (area.width == 0 || (area.width == width && area.height == height)) {
    return FillPatches(config, value, rows);
  }
  const auto padded = [&](int channel, int frame, int y, int x) {
    return y < area.height && x < area.width ? value(channel, frame, y, x)
                                             : 255 * norm.mean[channel] - kPixelCentre;
  };
  FillPatches(config, padded, rows);
}

void PatchesFromVideo(const float* video, const BackboneConfig& config, float* rows) {
  const int height = config.rows() * config.patch;
  const int width = config.columns() * config.patch;
  const auto value = [&](int channel, int frame, int y, int x) {
    const size_t picture = static_cast<size_t>(channel) * config.frames + frame;
    return video[(picture * height + y) * width + x];
  };
  FillPatches(config, value, rows);
}

}  // namespace scanline
