#include "model/person/rgb_picture.h"

#include <algorithm>
#include <vector>

namespace scanline {
namespace {

struct Sample {
  int low = 0;
  int high = 0;
  float share = 0;  // of `high`
};

std::vector<Sample> Samples(int from, int to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<Sample> samples(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    const float at = static_cast<float>(i) * scale;
    const int low = std::min(static_cast<int>(at), from - 1);
    samples[i] = {low, std::min(low + 1, from - 1), at - static_cast<float>(low)};
  }
  return samples;
}

float Mix(float a, float b, float share) { return a + (b - a) * share; }

}  // namespace

void ResizeToSquare(const RgbPicture& picture, int side, float* out) {
  constexpr float kToUnit = 2.0F / 255.0F;
  const std::vector<Sample> columns = Samples(picture.width, side);
  for (const Sample& y : Samples(picture.height, side)) {
    const uint8_t* upper = picture.data + y.low * picture.stride;
    const uint8_t* lower = picture.data + y.high * picture.stride;
    for (const Sample& x : columns) {
      for (int c = 0; c < 3; ++c) {
        const int left = 3 * x.low + c;
        const int right = 3 * x.high + c;
        const float top = Mix(upper[left], upper[right], x.share);
        const float bottom = Mix(lower[left], lower[right], x.share);
        *out++ = Mix(top, bottom, y.share) * kToUnit - 1.0F;
      }
    }
  }
}

}  // namespace scanline
