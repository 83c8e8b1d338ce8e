#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tests/model/kernels/tiled.h"

namespace scanline::testing {

// A scan over one sequence, token-major, in float or double, with softplus and one group.
template <typename T>
struct ScanProblem {
  int length = 0;
  int dim = 0;
  int state = 0;
  std::vector<T> u, delta, b, c;  // [length][dim], [length][state]
  std::vector<T> a2, d, bias;     // [dim][state]: A log2(e), [dim]
  bool reverse = false;
  bool first_token_init = false;
  bool mask = false;
  bool cumulative = false;
};

template <typename T>
struct ScanOutput {
  std::vector<T> y;        // [length][dim]
  std::vector<T> h;        // [dim][state]: after the last token in scan order
  std::vector<T> earlier;  // [dim]
};

// Bit 0 and so on: reverse, first token, mask, cumulative.
inline constexpr int kScanOptions = 16;

template <typename T>
ScanProblem<T> WithOptions(ScanProblem<T> problem, int options) {
  problem.reverse = options & 1;
  problem.first_token_init = options & 2;
  problem.mask = options & 4;
  problem.cumulative = options & 8;
  return problem;
}

// Values of the sizes that models have, by a small generator, so that no two are alike.
class Values {
 public:
  explicit Values(uint64_t seed) : seed_(seed) {}

  template <typename T>
  std::vector<T> Between(double low, double high, size_t count) {
    std::vector<T> values(count);
    for (T& value : values) {
      seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(low + (high - low) * static_cast<double>(seed_ >> 40) * 0x1p-24);
    }
    return values;
  }

 private:
  uint64_t seed_;
};

template <typename T>
ScanProblem<T> MadeScan(int length, int dim, int state) {
  Values values(0x9e3779b97f4a7c15u * static_cast<uint64_t>(length * 1000 + dim + state));
  const auto l = static_cast<size_t>(length), w = static_cast<size_t>(dim);
  const auto n = static_cast<size_t>(state);
  ScanProblem<T> p{.length = length, .dim = dim, .state = state};
  p.u = values.Between<T>(-2, 2, l * w);
  p.delta = values.Between<T>(-3, 3, l * w);
  p.b = values.Between<T>(-1, 1, l * n);
  p.c = values.Between<T>(-1, 1, l * n);
  p.a2 = values.Between<T>(-23, -0.7, w * n);
  p.d = values.Between<T>(0.5, 1.5, w);
  p.bias = values.Between<T>(-6, 0, w);
  return p;
}

inline std::vector<double> Widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

inline ScanProblem<double> Widened(const ScanProblem<float>& p) {
  return {.length = p.length,
          .dim = p.dim,
          .state = p.state,
          .u = Widened(p.u),
          .delta = Widened(p.delta),
          .b = Widened(p.b),
          .c = Widened(p.c),
          .a2 = Widened(p.a2),
          .d = Widened(p.d),
          .bias = Widened(p.bias),
          .reverse = p.reverse,
          .first_token_init = p.first_token_init,
          .mask = p.mask,
          .cumulative = p.cumulative};
}

// What a scan over whole sequences makes of it: ops.h, the specification.
inline ScanOutput<double> ScanAtOnce(const ScanProblem<double>& p) {
  std::vector<double> a(p.a2);
  for (double& value : a) value *= std::log(2.0);
  ScanOutput<double> out;
  out.y.resize(p.u.size());
  out.h.resize(p.a2.size());
  SelectiveScanReference(SelectiveScan<double>{.length = p.length,
                                               .dim = p.dim,
                                               .state = p.state,
                                               .u = p.u.data(),
                                               .u_stride = p.dim,
                                               .delta = p.delta.data(),
                                               .delta_stride = p.dim,
                                               .a = a.data(),
                                               .b = p.b.data(),
                                               .c = p.c.data(),
                                               .bc_stride = p.state,
                                               .d = p.d.data(),
                                               .delta_bias = p.bias.data(),
                                               .y = out.y.data(),
                                               .y_stride = p.dim,
                                               .last_state = out.h.data(),
                                               .reverse = p.reverse,
                                               .first_token_init = p.first_token_init,
                                               .mask = p.mask,
                                               .cumulative = p.cumulative});
  return out;
}

// The same, tile by tile. Tokens behind a tile's count are NaN where it reads and -7 where it
// writes; `overwritten`, if asked for, is how many of the latter did not stay -7.
template <typename T>
ScanOutput<T> ScanByTiles(void (*scan)(const ScanTile<T>&), const ScanProblem<T>& p,
                          const Counts& counts, size_t* overwritten = nullptr) {
  const int channels = UpTo(p.dim, kBlock), state = UpTo(p.state, kStates);
  auto u = ToTiles(p.u, p.dim, counts), delta = ToTiles(p.delta, p.dim, counts);
  auto a2 = ToBlocks(p.a2, p.dim, p.state), d = ToBlocks(p.d, p.dim);
  auto bias = ToBlocks(p.bias, p.dim);
  const int row = 2 * state + 3;  // B, C and what else x_proj gives
  const auto tokens = static_cast<size_t>(p.length);
  Aligned<T> bc(tokens * static_cast<size_t>(row));
  for (size_t i = 0; i < tokens * static_cast<size_t>(p.state); ++i) {
    const size_t token = i / static_cast<size_t>(p.state), n = i % static_cast<size_t>(p.state);
    bc[token * static_cast<size_t>(row) + n] = p.b[i];
    bc[token * static_cast<size_t>(row) + static_cast<size_t>(state) + n] = p.c[i];
  }
  const size_t first = p.reverse ? tokens - 1 : 0;
  std::vector<T> init(p.a2.size(), T(0));
  for (size_t i = 0; p.first_token_init && i < init.size(); ++i) {
    init[i] = p.u[first * static_cast<size_t>(p.dim) + i / static_cast<size_t>(p.state)];
  }
  auto h = ToBlocks(init, p.dim, p.state);
  Aligned<T> earlier(static_cast<size_t>(channels));
  const ptrdiff_t tile_size = ptrdiff_t{kTileTokens} * channels;
  Aligned<T> y(counts.size() * static_cast<size_t>(tile_size), T(-7));

  std::vector<ptrdiff_t> begins;
  ptrdiff_t begin = 0;
  for (const int count : counts) begins.push_back(std::exchange(begin, begin + count));
  for (size_t step = 0; step < counts.size(); ++step) {
    const size_t tile = p.reverse ? counts.size() - 1 - step : step;
    const ptrdiff_t at = static_cast<ptrdiff_t>(tile) * tile_size;
    scan({.count = counts[tile],
          .channels = channels,
          .state = state,
          .u = u.data() + at,
          .delta = delta.data() + at,
          .b = bc.data() + begins[tile] * row,
          .c = bc.data() + begins[tile] * row + state,
          .bc_stride = row,
          .a2 = a2.data(),
          .d = d.data(),
          .delta_bias = bias.data(),
          .h = h.data(),
          .earlier = p.cumulative ? earlier.data() : nullptr,
          .y = y.data() + at,
          .reverse = p.reverse,
          .mask = p.mask,
          .first = step == 0});
  }

  ScanOutput<T> out{.y = FromTiles(y, p.dim, counts)};
  for (size_t c = 0; c < static_cast<size_t>(p.dim); ++c) {
    for (size_t n = 0; n < static_cast<size_t>(p.state); ++n) {
      out.h.push_back(h[(c / kBlock * static_cast<size_t>(state) + n) * kBlock + c % kBlock]);
    }
    out.earlier.push_back(earlier[c]);
  }
  if (overwritten != nullptr) {
    ForTokens(counts, channels, [&](size_t, size_t token) {
      for (size_t c = 0; c < static_cast<size_t>(channels); ++c) y[token + InBlock(c)] = T(-7);
    });
    *overwritten = Unlike(y, counts.size() * static_cast<size_t>(tile_size), T(-7));
  }
  return out;
}

}  // namespace scanline::testing
