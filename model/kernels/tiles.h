#pragma once

#include <cstddef>
#include <cstdint>

#include "model/kernels/ops.h"

// The operators of a mixer on tiles: up to kTileTokens tokens of a sequence, channels in blocks, so
// that a block's tokens lie side by side:
//   (token, channel) at tile[(channel / kBlock) * kTileTokens * kBlock + token * kBlock +
//                            channel % kBlock].
// A sequence is tiles one after another. Channel counts are multiples of kBlock and state counts
// multiples of kStates: packing fills up with zeros, which stay exact zeros all the way. `count` is
// the number of tokens in a tile; what lies behind them is neither read nor written. Pointers are
// 64-byte aligned. The reference functions are the specification, and ops.h has the formulas.

namespace scanline {

inline constexpr int kTileTokens = 64;
inline constexpr int kBlock = 16;    // channels
inline constexpr int kStates = 4;    // the state count is a multiple of it
inline constexpr int kMaxTaps = 16;  // of a convolution

inline constexpr ptrdiff_t kTileBlock = ptrdiff_t{kTileTokens} * kBlock;  // elements of a block

// Depthwise convolution and SiLU of a tile, causal, or anti-causal when `reverse`, as CausalConv.
template <typename T>
struct ConvTile {
  int count = 0;
  int channels = 0;
  int width = 4;  // at most kMaxTaps
  const T* x = nullptr;
  // The tile's neighbours in the sequence, at the same channels; none at its ends: zeros.
  const T* before = nullptr;  // full; read by the causal one
  const T* after = nullptr;   // read by the anti-causal one
  int after_count = 0;
  const T* weight = nullptr;  // [channels / kBlock][width][kBlock]
  const T* bias = nullptr;    // [channels]
  T* out = nullptr;           // a tile; not x
  bool reverse = false;
};

// The selective scan over the tokens of a tile, from its last to its first when `reverse`. The
// state goes from tile to tile: called for every tile of a sequence in scan order it is
// SelectiveScan with softplus, without gate.
template <typename T>
struct ScanTile {
  int count = 0;
  int channels = 0;
  int state = 0;
  const T* u = nullptr;      // a tile
  const T* delta = nullptr;  // a tile
  const T* b = nullptr;      // [count][state], bc_stride elements from token to token
  const T* c = nullptr;
  ptrdiff_t bc_stride = 0;
  const T* a2 = nullptr;          // [channels / kBlock][state][kBlock]: A log2(e)
  const T* d = nullptr;           // [channels]
  const T* delta_bias = nullptr;  // [channels]
  T* h = nullptr;                 // [channels / kBlock][state][kBlock]: before and after
  T* earlier = nullptr;           // [channels], S before and after; none: not cumulative
  T* y = nullptr;                 // a tile; not u, not delta
  bool reverse = false;
  bool mask = false;
  bool first = false;  // holds the sequence's first token in scan order: masked reads nothing there
};

// out = (forward + backward) SiLU(z); without z the sum alone. All tiles; out may be one of them.
template <typename T>
struct GateTile {
  int count = 0;
  int channels = 0;
  const T* forward = nullptr;
  const T* backward = nullptr;
  const T* z = nullptr;
  T* out = nullptr;
};

// For float and double.
template <typename T>
void ConvTileReference(const ConvTile<T>& op);
template <typename T>
void ScanTileReference(const ScanTile<T>& op);
template <typename T>
void GateTileReference(const GateTile<T>& op);

// PackedLinear with x and weight rounded to bfloat16 (nearest, ties to even) and sums in fp32: per
// element one chain over pairs of `inner`, whatever rows stand beside it. fp32 x, bias and out.
struct PackedLinearBf16 {
  PackedLinear shape;                // without its weight
  const uint16_t* weight = nullptr;  // [panels][(inner + 1) / 2][kPanel][2], by PackLinearBf16
  uint16_t* scratch = nullptr;       // Bf16ScratchSize(rows, inner), 64-byte aligned
};

inline size_t Bf16ScratchSize(int rows, int inner) {
  const size_t padded = (static_cast<size_t>(inner) + 31) / 32 * 32;
  return static_cast<size_t>(rows) * padded;
}

// As PackLinear; an odd `inner` is filled up with a zero.
void PackLinearBf16(const float* const* columns, int count, int inner, uint16_t* packed);
void PackedLinearBf16Reference(const PackedLinearBf16& op);

}  // namespace scanline
