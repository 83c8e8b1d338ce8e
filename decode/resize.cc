#include "decode/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace scanline {
namespace {

constexpr int kChannels = 3;
constexpr int kCoefficientOne = 1 << 11;

// Two neighbours and their weights along one axis.
struct LinearTap {
  int first = 0;
  int second = 0;
  int weight_first = kCoefficientOne;
  int weight_second = 0;
};

int ToCoefficient(float weight) {
  return static_cast<int>(std::nearbyint(weight * kCoefficientOne));
}

// Taps of the outputs [begin, begin + count) of a resize from `in` to `out` pixels. OpenCV drops
// the fraction at the borders along x but not along y, where it only clamps the rows.
std::vector<LinearTap> LinearTaps(int in, int out, int begin, int count, bool along_x) {
  const double scale = 1.0 / (static_cast<double>(out) / in);
  std::vector<LinearTap> taps;
  taps.reserve(count);
  for (int i = begin; i < begin + count; ++i) {
    auto at = static_cast<float>((i + 0.5) * scale - 0.5);
    int first = static_cast<int>(std::floor(at));
    at -= static_cast<float>(first);
    if (along_x && first < 0) {
      at = 0;
      first = 0;
    }
    if (along_x && first >= in - 1) {
      at = 0;
      first = in - 1;
    }
    taps.push_back({std::clamp(first, 0, in - 1), std::clamp(first + 1, 0, in - 1),
                    ToCoefficient(1.f - at), ToCoefficient(at)});
  }
  return taps;
}

void BlendRow(const uint8_t* in, const std::vector<LinearTap>& taps, int32_t* out) {
  for (const LinearTap& tap : taps) {
    const uint8_t* a = in + kChannels * ptrdiff_t{tap.first};
    const uint8_t* b = in + kChannels * ptrdiff_t{tap.second};
    for (int c = 0; c < kChannels; ++c) {
      *out++ = a[c] * tap.weight_first + b[c] * tap.weight_second;
    }
  }
}

// Where both sides halve exactly OpenCV takes the mean of 2x2 pixels.
void HalveCrop(const RgbView& in, Rect crop, uint8_t* out) {
  for (int y = 0; y < crop.height; ++y) {
    const uint8_t* a = in.row(2 * (crop.y + y)) + 2 * kChannels * ptrdiff_t{crop.x};
    const uint8_t* b = in.row(2 * (crop.y + y) + 1) + 2 * kChannels * ptrdiff_t{crop.x};
    for (int x = 0; x < crop.width; ++x, a += 2 * kChannels, b += 2 * kChannels) {
      for (int c = 0; c < kChannels; ++c) {
        *out++ = static_cast<uint8_t>((a[c] + a[c + kChannels] + b[c] + b[c + kChannels] + 2) >> 2);
      }
    }
  }
}

// How much of each input pixel lies in an output pixel, in units of 1 / size of an input pixel: all
// integers, so the mean is exact.
struct AreaTap {
  int first = 0;
  std::vector<int64_t> weights;
};

std::vector<AreaTap> AreaTaps(int in, int size) {
  std::vector<AreaTap> taps(size);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t begin = i * in, end = (i + 1) * in;
    taps[i].first = static_cast<int>(begin / size);
    for (int64_t pixel = begin / size; pixel * size < end; ++pixel) {
      taps[i].weights.push_back(std::min(end, (pixel + 1) * size) - std::max(begin, pixel * size));
    }
  }
  return taps;
}

// Row `in`, reduced along x: sums of value * weight.
void ReduceRow(const uint8_t* in, const std::vector<AreaTap>& taps, int64_t* out) {
  for (const AreaTap& tap : taps) {
    const uint8_t* pixel = in + kChannels * ptrdiff_t{tap.first};
    int64_t sum[kChannels] = {};
    for (int64_t weight : tap.weights) {
      for (int64_t& channel : sum) channel += *pixel++ * weight;
    }
    for (int64_t channel : sum) *out++ = channel;
  }
}

// Keys' cubic convolution, written with ATen's polynomials (UpSample.h, a = -0.75).
std::array<float, 4> CubicWeights(float t) {
  constexpr float kA = -0.75f;
  const auto near = [](float x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

struct CubicTap {
  std::array<int, 4> pixels = {};
  std::array<float, 4> weights = {};
};

std::vector<CubicTap> CubicTaps(int in, int size) {
  const float scale = static_cast<float>(in) / static_cast<float>(size);
  std::vector<CubicTap> taps(size);
  for (int i = 0; i < size; ++i) {
    const float at = scale * (static_cast<float>(i) + 0.5f) - 0.5f;
    const int first = static_cast<int>(std::floor(at));
    taps[i].weights = CubicWeights(at - static_cast<float>(first));
    for (int k = 0; k < 4; ++k) taps[i].pixels[k] = std::clamp(first - 1 + k, 0, in - 1);
  }
  return taps;
}

}  // namespace

void ResizeLinear(const RgbView& in, Size full, Rect crop, uint8_t* out) {
  if (in.width == 2 * full.width && in.height == 2 * full.height) return HalveCrop(in, crop, out);
  const auto columns = LinearTaps(in.width, full.width, crop.x, crop.width, /*along_x=*/true);
  const auto rows = LinearTaps(in.height, full.height, crop.y, crop.height, /*along_x=*/false);
  const size_t row_values = static_cast<size_t>(crop.width) * kChannels;
  // The two input rows in use, blended along x; going down each is blended once.
  std::vector<int32_t> blended[2] = {std::vector<int32_t>(row_values),
                                     std::vector<int32_t>(row_values)};
  int held[2] = {-1, -1};
  for (const LinearTap& tap : rows) {
    if (held[0] != tap.first && held[1] == tap.first) {
      std::swap(blended[0], blended[1]);
      std::swap(held[0], held[1]);
    }
    const int wanted[2] = {tap.first, tap.second};
    for (int k = 0; k < 2; ++k) {
      if (held[k] == wanted[k]) continue;
      BlendRow(in.row(wanted[k]), columns, blended[k].data());
      held[k] = wanted[k];
    }
    for (size_t i = 0; i < row_values; ++i) {
      const int a = (tap.weight_first * (blended[0][i] >> 4)) >> 16;
      const int b = (tap.weight_second * (blended[1][i] >> 4)) >> 16;
      *out++ = static_cast<uint8_t>((a + b + 2) >> 2);
    }
  }
}

void ResizeArea(const RgbView& in, Rect square, int size, uint8_t* out) {
  const auto columns = AreaTaps(square.width, size);
  const auto rows = AreaTaps(square.height, size);
  const size_t row_values = static_cast<size_t>(size) * kChannels;
  const int64_t area = int64_t{square.width} * square.height;
  std::vector<int64_t> reduced(row_values), sum(row_values);
  int held = -1;
  for (const AreaTap& tap : rows) {
    std::fill(sum.begin(), sum.end(), 0);
    for (size_t k = 0; k < tap.weights.size(); ++k) {
      const int y = tap.first + static_cast<int>(k);
      if (y != held) {
        ReduceRow(in.row(square.y + y) + kChannels * ptrdiff_t{square.x}, columns, reduced.data());
        held = y;
      }
      for (size_t i = 0; i < row_values; ++i) sum[i] += reduced[i] * tap.weights[k];
    }
    for (int64_t value : sum) *out++ = static_cast<uint8_t>((2 * value + area) / (2 * area));
  }
}

void ResizeBicubic(const RgbView& in, int size, uint8_t* out) {
  const auto columns = CubicTaps(in.width, size);
  const auto rows = CubicTaps(in.height, size);
  const auto blend = [](const std::array<float, 4>& x, const std::array<float, 4>& w) {
    return x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
  };
  for (const CubicTap& row : rows) {
    for (const CubicTap& column : columns) {
      for (int c = 0; c < kChannels; ++c) {
        std::array<float, 4> lines;
        for (int j = 0; j < 4; ++j) {
          std::array<float, 4> pixels;
          for (int k = 0; k < 4; ++k) {
            pixels[k] = in.row(row.pixels[j])[kChannels * ptrdiff_t{column.pixels[k]} + c];
          }
          lines[j] = blend(pixels, column.weights);
        }
        const float value = std::nearbyint(blend(lines, row.weights));
        *out++ = static_cast<uint8_t>(std::clamp(value, 0.f, 255.f));
      }
    }
  }
}

}  // namespace scanline
