#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "model/kernels/kernels.h"
#include "model/kernels/tiles.h"

// Sequences [length][width] as tiles, for the tests of kernels on tiles.

namespace scanline::testing {

// 64-byte aligned.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t count, T value = T(0)) : memory_(count + kLine / sizeof(T), value) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    offset_ = (kLine - address % kLine) % kLine / sizeof(T);
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  Aligned(Aligned&&) noexcept = default;

  T* data() { return memory_.data() + offset_; }
  T& operator[](size_t i) { return data()[i]; }

 private:
  static constexpr size_t kLine = 64;
  std::vector<T> memory_;
  size_t offset_ = 0;
};

inline int UpTo(int count, int multiple) { return (count + multiple - 1) / multiple * multiple; }

// The tokens in each tile.
using Counts = std::vector<int>;

inline Counts FullTiles(int length) {
  Counts counts(static_cast<size_t>(length) / kTileTokens, kTileTokens);
  if (length % kTileTokens != 0) counts.push_back(length % kTileTokens);
  return counts;
}

// Calls visit(token of the sequence, offset of the token's first channel in tiles of `channels`).
inline void ForTokens(const Counts& counts, int channels,
                      const std::function<void(size_t, size_t)>& visit) {
  size_t token = 0;
  for (size_t tile = 0; tile < counts.size(); ++tile) {
    const size_t at = tile * kTileTokens * static_cast<size_t>(channels);
    for (int i = 0; i < counts[tile]; ++i) visit(token++, at + static_cast<size_t>(i) * kBlock);
  }
}

inline size_t InBlock(size_t channel) {
  return channel / kBlock * static_cast<size_t>(kTileBlock) + channel % kBlock;
}

// Tiles of UpTo(width, kBlock) channels; `behind` where no token is, zeros in channels filled up.
template <typename T>
Aligned<T> ToTiles(const std::vector<T>& values, int width, const Counts& counts,
                   T behind = std::numeric_limits<T>::quiet_NaN()) {
  const int channels = UpTo(width, kBlock);
  Aligned<T> tiles(counts.size() * kTileTokens * static_cast<size_t>(channels), behind);
  ForTokens(counts, channels, [&](size_t token, size_t at) {
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
      const bool real = c < static_cast<size_t>(width);
      tiles[at + InBlock(c)] = real ? values[token * static_cast<size_t>(width) + c] : T(0);
    }
  });
  return tiles;
}

template <typename T>
std::vector<T> FromTiles(Aligned<T>& tiles, int width, const Counts& counts) {
  std::vector<T> values;
  ForTokens(counts, UpTo(width, kBlock), [&](size_t, size_t at) {
    for (size_t c = 0; c < static_cast<size_t>(width); ++c)
      values.push_back(tiles[at + InBlock(c)]);
  });
  return values;
}

// Elements of `tiles` that are not `value`: those written to, when it was filled with it.
template <typename T>
size_t Unlike(Aligned<T>& tiles, size_t count, T value) {
  size_t unlike = 0;
  for (size_t i = 0; i < count; ++i) unlike += tiles[i] == value ? 0 : 1;
  return unlike;
}

// [width] or, with `state`, [width][state] as [channels / kBlock][padded state][kBlock].
template <typename T>
Aligned<T> ToBlocks(const std::vector<T>& values, int width, int state = 0) {
  const int padded = state == 0 ? 1 : UpTo(state, kStates);
  state = std::max(state, 1);
  Aligned<T> blocks(static_cast<size_t>(UpTo(width, kBlock)) * static_cast<size_t>(padded));
  for (int c = 0; c < width; ++c) {
    for (int n = 0; n < state; ++n) {
      const int at = (c / kBlock * padded + n) * kBlock + c % kBlock;
      blocks[static_cast<size_t>(at)] = values[static_cast<size_t>(c * state + n)];
    }
  }
  return blocks;
}

}  // namespace scanline::testing
