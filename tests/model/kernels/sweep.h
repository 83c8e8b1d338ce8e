#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/kernels/tiles.h"

// The shapes that kernels on tiles are swept over: odd lengths from 1 to 4099, widths that are
// multiples of 16. Not every pair of them: each length meets several widths, each width short and
// long sequences.

namespace scanline::testing {

struct SweepShape {
  int length;
  int width;
};

inline constexpr int kMostBlocks = 72;  // d_inner of Middle: 1152

// Every one of the first three tiles.
inline std::vector<int> ShortOddLengths() {
  std::vector<int> lengths;
  for (int length = 1; length < 200; length += 2) lengths.push_back(length);
  return lengths;
}

// Beside powers of two and whole tiles, and a sample of the rest.
inline std::vector<int> LongOddLengths() {
  std::vector<int> lengths = {255, 257, 511, 513, 1023, 1025, 2047, 2049, 4095, 4097, 4099};
  for (const int tiles : {5, 11, 24, 39, 49, 63}) {
    lengths.push_back(tiles * kTileTokens - 1);
    lengths.push_back(tiles * kTileTokens + 1);
  }
  uint32_t seed = 7;
  for (int i = 0; i < 40; ++i) {
    seed = seed * 1664525 + 1013904223;
    lengths.push_back(201 + 2 * static_cast<int>((seed >> 8) % 1950));
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// Two widths for each length, up to 1152, and the narrower the longer.
inline std::vector<SweepShape> EachLength() {
  std::vector<int> lengths = ShortOddLengths();
  for (const int length : LongOddLengths()) lengths.push_back(length);
  std::vector<SweepShape> shapes;
  int turn = 0;
  for (const int length : lengths) {
    const int blocks = std::clamp((1 << 16) / length / kBlock, 4, kMostBlocks);
    for (int i = 0; i < 2; ++i) shapes.push_back({length, kBlock * (1 + 79 * ++turn % blocks)});
  }
  return shapes;
}

// Every multiple of 16 up to 1152, with a sequence of four to eight tiles each.
inline std::vector<SweepShape> EachWidth() {
  const std::vector<int> lengths = LongOddLengths();
  std::vector<SweepShape> shapes;
  for (int block = 0; block < kMostBlocks; ++block) {
    shapes.push_back({lengths[static_cast<size_t>(block % 10)], kBlock * (block + 1)});
  }
  return shapes;
}

// d_inner of the official models and odd numbers of blocks over the longest sequences.
inline std::vector<SweepShape> LongAndWide() {
  return {{1569, 384}, {1569, 768}, {1569, 1152}, {2047, 400},
          {2049, 80},  {4097, 208}, {4099, 48},   {4099, 384}};
}
inline constexpr SweepShape kLongestAndWidest = {4099, 1152};

}  // namespace scanline::testing
