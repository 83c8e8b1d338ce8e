#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace scanline::testing {

// The frame number drawn into the made clips, as tests/data/clips/read_pattern.py reads it: a
// centred square of 0.8 x the short side, 6x6 cells. Corners red, green, blue, yellow; top edge the
// sync white black white black; left edge four stream bits; inner 4x4 cells the number, MSB first;
// bottom edge the check nibble; right edge mid grey.
struct Pattern {
  bool ok = false;  // sync and check bits agree
  int number = 0;
  int stream = 0;
  std::array<std::array<double, 3>, 7> colors = {};  // mean RGB, in the order of kPatternColors
};

inline constexpr std::array<const char*, 7> kPatternColors = {"red",  "green", "blue", "yellow",
                                                              "grey", "white", "black"};

// An upright RGB picture. `crop_of`: the short side of the picture that a centre crop was taken of;
// 0: not cropped.
inline Pattern ReadPattern(const uint8_t* rgb, int width, int height, int64_t stride,
                           int crop_of = 0) {
  const double side = 0.8 * (crop_of > 0 ? crop_of : std::min(width, height));
  const double left = (width - side) / 2, top = (height - side) / 2, cell = side / 6;
  const auto mean = [&](int row, int column) {
    const int y0 = static_cast<int>(top + (row + .3) * cell);
    const int y1 = std::max(y0 + 1, static_cast<int>(top + (row + .7) * cell));
    const int x0 = static_cast<int>(left + (column + .3) * cell);
    const int x1 = std::max(x0 + 1, static_cast<int>(left + (column + .7) * cell));
    std::array<double, 3> sum = {};
    for (int y = y0; y < std::min(y1, height); ++y) {
      for (int x = x0; x < std::min(x1, width); ++x) {
        for (int c = 0; c < 3; ++c) sum[c] += rgb[y * stride + 3 * int64_t{x} + c];
      }
    }
    for (double& channel : sum) channel /= (y1 - y0) * (x1 - x0);
    return sum;
  };
  const auto bit = [&](int row, int column) {
    const auto color = mean(row, column);
    return (color[0] + color[1] + color[2]) / 3 > 128 ? 1 : 0;
  };
  Pattern pattern;
  int check = 0;
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      pattern.number = pattern.number * 2 + bit(1 + row, 1 + column);
    }
    pattern.stream |= bit(1 + row, 0) << (3 - row);
    check |= bit(5, 1 + row) << (3 - row);
  }
  const int n = pattern.number;
  const int want = (pattern.stream ^ n ^ n >> 4 ^ n >> 8 ^ n >> 12) & 15;
  const bool sync = bit(0, 1) == 1 && bit(0, 2) == 0 && bit(0, 3) == 1 && bit(0, 4) == 0;
  pattern.ok = sync && check == want;
  constexpr int kCells[7][2] = {{0, 0}, {0, 5}, {5, 0}, {5, 5}, {2, 5}, {0, 1}, {0, 2}};
  for (int i = 0; i < 7; ++i) pattern.colors[i] = mean(kCells[i][0], kCells[i][1]);
  return pattern;
}

}  // namespace scanline::testing
