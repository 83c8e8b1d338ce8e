#pragma once

// Only for the *_tiles.cc files: the operators of tiles.h for an instruction set (tile_math.h).
// Internal linkage, as in avx2_math.h.

#include "model/kernels/tile_math.h"
#include "model/kernels/tiles.h"

namespace scanline {
namespace {

// Row `token` of a block of the tile or of its neighbours; `outside` beyond the sequence.
inline const float* ConvRow(const ConvTile<float>& op, ptrdiff_t block, int token,
                            const float* outside) {
  const ptrdiff_t at = block * kTileBlock;
  if (token < 0) {
    return op.before != nullptr ? op.before + at + (kTileTokens + token) * kBlock : outside;
  }
  if (token < op.count) return op.x + at + token * kBlock;
  const int beyond = token - op.count;
  const bool there = op.after != nullptr && beyond < op.after_count;
  return there ? op.after + at + beyond * kBlock : outside;
}

// Tokens [begin, end) of a block, whose taps all lie in the tile.
template <typename Simd, int kWidth>
void ConvInside(const ConvTile<float>& op, ptrdiff_t block, int begin, int end) {
  const auto table = Simd::Table();
  const int width = kWidth != 0 ? kWidth : op.width;
  const ptrdiff_t step = op.reverse ? -kBlock : kBlock;
  for (int lane = 0; lane < kBlock; lane += Simd::kLanes) {
    typename Simd::Vector taps[kMaxTaps];
    for (int k = 0; k < width; ++k) {
      taps[k] = Simd::Load(op.weight + (block * op.width + k) * kBlock + lane);
    }
    const auto bias = Simd::Load(op.bias + block * kBlock + lane);
    const float* x = op.x + block * kTileBlock + lane - (width - 1) * step;
    float* out = op.out + block * kTileBlock + lane;
    for (ptrdiff_t at = begin * ptrdiff_t{kBlock}; at < end * ptrdiff_t{kBlock}; at += kBlock) {
      __builtin_prefetch(x + at + kTileBlock);  // as in the gate
      auto sum = bias;
#pragma GCC unroll 8
      for (int k = 0; k < width; ++k) sum = Simd::Fma(taps[k], Simd::Load(x + at + k * step), sum);
      Simd::Store(out + at, Silu<Simd>(table, sum));
    }
  }
}

// Tokens [begin, end) of a block, wherever their taps lie.
template <typename Simd>
void ConvEdge(const ConvTile<float>& op, ptrdiff_t block, int begin, int end) {
  alignas(64) static constexpr float kOutside[kBlock] = {};
  const auto table = Simd::Table();
  for (int token = begin; token < end; ++token) {
    for (int lane = 0; lane < kBlock; lane += Simd::kLanes) {
      auto sum = Simd::Load(op.bias + block * kBlock + lane);
      for (int k = 0; k < op.width; ++k) {
        const int from = op.reverse ? token + op.width - 1 - k : token - (op.width - 1) + k;
        const auto tap = Simd::Load(op.weight + (block * op.width + k) * kBlock + lane);
        sum = Simd::Fma(tap, Simd::Load(ConvRow(op, block, from, kOutside) + lane), sum);
      }
      Simd::Store(op.out + block * kTileBlock + token * kBlock + lane, Silu<Simd>(table, sum));
    }
  }
}

template <typename Simd>
void RunConvTile(const ConvTile<float>& op) {
  const int edge = op.width - 1 < op.count ? op.width - 1 : op.count;
  const int begin = op.reverse ? 0 : edge;
  const int end = op.reverse ? op.count - edge : op.count;
  for (ptrdiff_t block = 0; block < op.channels / kBlock; ++block) {
    ConvEdge<Simd>(op, block, 0, begin);
    op.width == 4 ? ConvInside<Simd, 4>(op, block, begin, end)
                  : ConvInside<Simd, 0>(op, block, begin, end);
    ConvEdge<Simd>(op, block, end, op.count);
  }
}

template <typename Simd>
void RunGateTile(const GateTile<float>& op) {
  const auto table = Simd::Table();
  for (ptrdiff_t block = 0; block < op.channels / kBlock; ++block) {
    const ptrdiff_t begin = block * kTileBlock;
    const ptrdiff_t end = begin + op.count * ptrdiff_t{kBlock};
    for (ptrdiff_t at = begin; at < end; at += Simd::kLanes) {
      // The next block: a page of its own to the hardware's prefetchers.
      __builtin_prefetch(op.forward + at + kTileBlock);
      __builtin_prefetch(op.backward + at + kTileBlock);
      auto sum = Simd::Load(op.forward + at) + Simd::Load(op.backward + at);
      if (op.z != nullptr) {
        __builtin_prefetch(op.z + at + kTileBlock);
        sum = sum * Silu<Simd>(table, Simd::Load(op.z + at));
      }
      Simd::Store(op.out + at, sum);
    }
  }
}

// Simd::kLanes channels of a scan's tile.
template <typename Simd>
struct ScanLanes {
  ptrdiff_t tile;                 // offset of their first token
  ptrdiff_t states;               // of their first state
  ptrdiff_t channel;              // of the first of them
  const float* dt;                // [count][kBlock]: after softplus
  typename Simd::Vector longest;  // dt of all tokens
};

// dt of the block's tokens; returns the longest of each lane, without NaN.
template <typename Simd>
typename Simd::Vector PrepareSteps(const ScanTile<float>& op, ptrdiff_t tile, ptrdiff_t channel,
                                   float* dt) {
  const auto table = Simd::Table();
  const auto bias = Simd::Load(op.delta_bias + channel);
  auto longest = Simd::Set(0.0f);
  for (ptrdiff_t at = 0; at < op.count * ptrdiff_t{kBlock}; at += kBlock) {
    const auto step = Softplus<Simd>(table, Simd::Load(op.delta + tile + at) + bias);
    Simd::Store(dt + at, step);
    longest = Simd::Max(step, longest);
  }
  return longest;
}

// `kCount` states from n on over the tile's tokens, in registers; returns S after them.
template <typename Simd, int kCount, bool kMask, bool kCumulative, bool kFarDown>
[[gnu::noinline]] typename Simd::Vector RunStates(const ScanTile<float>& op,
                                                  const ScanLanes<Simd>& lanes, int n) {
  using Vector = typename Simd::Vector;
  const auto table = Simd::Table();
  const float* a2 = op.a2 + lanes.states + n * ptrdiff_t{kBlock};
  float* states = op.h + lanes.states + n * ptrdiff_t{kBlock};
  Vector h[kCount];
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) h[k] = Simd::Load(states + k * kBlock);
  const auto skip = Simd::Load(op.d + lanes.channel);
  Vector earlier = kCumulative ? Simd::Load(op.earlier + lanes.channel) : Simd::Set(0.0f);
  const int first = op.reverse ? op.count - 1 : 0;
  const ptrdiff_t step = op.reverse ? -1 : 1;
  const float* b = op.b + first * op.bc_stride + n;
  const float* c = op.c + first * op.bc_stride + n;
  ptrdiff_t at = first * ptrdiff_t{kBlock};
  for (int i = 0; i < op.count; ++i) {
    const auto dt = Simd::Load(lanes.dt + at);
    const auto u = Simd::Load(op.u + lanes.tile + at);
    const auto dx = dt * u;
    float* out = op.y + lanes.tile + at;
    constexpr int kChains = kCount > 8 ? 2 : 1;  // of additions, which must not be the longest
    Vector y[2] = {n == 0 ? skip * u : Simd::Load(out), Simd::Set(0.0f)};
#pragma GCC unroll 16
    for (int k = 0; k < kCount; ++k) {
      if (kCumulative) h[k] = h[k] + earlier;
      const auto decay = Exp2<Simd, kFarDown>(table, dt * Simd::Load(a2 + k * kBlock));
      const auto carried = decay.Times(h[k]);
      h[k] = Simd::Fma(dx, Simd::Broadcast(b + k), carried);
      y[k % kChains] = Simd::Fma(Simd::Broadcast(c + k), kMask ? carried : h[k], y[k % kChains]);
    }
    if (kCumulative) earlier = earlier + u;
    Simd::Store(out, kChains > 1 ? y[0] + y[1] : y[0]);
    at += step * kBlock;
    b += step * op.bc_stride;
    c += step * op.bc_stride;
  }
#pragma GCC unroll 16
  for (int k = 0; k < kCount; ++k) Simd::Store(states + k * kBlock, h[k]);
  return earlier;
}

template <typename Simd, int kCount, bool kMask, bool kCumulative>
typename Simd::Vector RunPass(const ScanTile<float>& op, const ScanLanes<Simd>& lanes, int n) {
  const float* a2 = op.a2 + lanes.states + n * ptrdiff_t{kBlock};
  bool far_down = false;
  for (int k = 0; k < kCount; ++k) {
    far_down |=
        Simd::AnyBelow(lanes.longest * Simd::Load(a2 + k * kBlock), Simd::Set(kLowestExponent));
  }
  return far_down ? RunStates<Simd, kCount, kMask, kCumulative, true>(op, lanes, n)
                  : RunStates<Simd, kCount, kMask, kCumulative, false>(op, lanes, n);
}

template <typename Simd, bool kMask, bool kCumulative>
void RunLanes(const ScanTile<float>& op, const ScanLanes<Simd>& lanes) {
  auto earlier = Simd::Set(0.0f);
  for (int n = 0; n < op.state;) {
    const int left = op.state - n;
    if (Simd::kMostStates >= 16 && left >= 16) {
      earlier = RunPass<Simd, Simd::kMostStates, kMask, kCumulative>(op, lanes, n);
      n += Simd::kMostStates;
    } else if (Simd::kMostStates >= 8 && left >= 8) {
      earlier = RunPass<Simd, 8, kMask, kCumulative>(op, lanes, n);
      n += 8;
    } else {
      earlier = RunPass<Simd, kStates, kMask, kCumulative>(op, lanes, n);
      n += kStates;
    }
  }
  if (kCumulative) Simd::Store(op.earlier + lanes.channel, earlier);
  if (kMask && op.first) {  // Nothing is read out there.
    const ptrdiff_t at = lanes.tile + (op.reverse ? op.count - 1 : 0) * ptrdiff_t{kBlock};
    Simd::Store(op.y + at, Simd::Load(op.d + lanes.channel) * Simd::Load(op.u + at));
  }
}

template <typename Simd, bool kMask, bool kCumulative>
void RunScan(const ScanTile<float>& op) {
  alignas(64) float dt[kTileBlock];
  for (int channel = 0; channel < op.channels; channel += Simd::kLanes) {
    const int lane = channel % kBlock;
    const ptrdiff_t block = channel / kBlock;
    const ptrdiff_t tile = block * kTileBlock + lane;
    const auto longest = PrepareSteps<Simd>(op, tile, channel, dt);
    RunLanes<Simd, kMask, kCumulative>(
        op, {tile, block * kBlock * op.state + lane, channel, dt, longest});
  }
}

template <typename Simd>
void RunScanTile(const ScanTile<float>& op) {
  const bool cumulative = op.earlier != nullptr;
  if (op.mask) {
    cumulative ? RunScan<Simd, true, true>(op) : RunScan<Simd, true, false>(op);
  } else {
    cumulative ? RunScan<Simd, false, true>(op) : RunScan<Simd, false, false>(op);
  }
}

}  // namespace
}  // namespace scanline
