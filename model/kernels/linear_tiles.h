#pragma once

// Only for the *_linear.cc files: the walk over panels and tiles that instruction sets share.
// Internal linkage, as in avx2_math.h.

#include "model/kernels/avx2_math.h"
#include "model/kernels/ops.h"

namespace scanline {
namespace {

// Of `inner`: a block of a panel and of some tens of rows stay in the second-level cache.
inline constexpr int kInnerBlock = 768;

// Floats of a panel that are asked for ahead of their use. With few rows the weights stream from
// memory, and the hardware's own prefetching stops at every page: 1.7 times as fast with it.
inline constexpr int kAhead = 64 * kPanel;

// A few rows times one panel: out = (first ? 0 : out) + x w^T over `count` of `inner`.
struct Tile {
  const float* x;
  ptrdiff_t x_stride;
  const float* weight;  // [count][kPanel]
  int count;
  float* out;  // [rows][kPanel]
  ptrdiff_t out_stride;
  bool first;
};

// Isa::Run<rows>(tile) for rows known at run time, up to Isa::kRows.
template <typename Isa, int kRows = Isa::kRows>
void RunTile(int rows, const Tile& tile) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      Isa::template Run<kRows>(tile);
    } else {
      RunTile<Isa, kRows - 1>(rows, tile);
    }
  }
}

// bias: [kPanel] or none.
inline void Finish(const float* bias, bool gelu, int rows, float* out, ptrdiff_t out_stride) {
  constexpr int kLanes = 8;
  if (bias == nullptr && !gelu) return;
  for (int row = 0; row < rows; ++row, out += out_stride) {
    for (int i = 0; i < kPanel; i += kLanes) {
      __m256 y = _mm256_loadu_ps(out + i);
      if (bias != nullptr) y = _mm256_add_ps(y, _mm256_loadu_ps(bias + i));
      _mm256_storeu_ps(out + i, gelu ? Gelu(y) : y);
    }
  }
}

// Tiles of about as many rows each.
struct RowSplit {
  int rows;
  int tiles;
  int Begin(int tile) const {
    return static_cast<int>(static_cast<ptrdiff_t>(rows) * tile / tiles);
  }
  int Count(int tile) const { return Begin(tile + 1) - Begin(tile); }
};

template <typename Isa>
void WholePanel(const PackedLinear& op, const RowSplit& split, int panel) {
  const float* weight = op.weight + static_cast<ptrdiff_t>(panel) * op.inner * kPanel;
  const float* bias = op.bias != nullptr ? op.bias + panel * kPanel : nullptr;
  for (int k = 0; k < op.inner; k += kInnerBlock) {
    const int count = op.inner - k < kInnerBlock ? op.inner - k : kInnerBlock;
    for (int tile = 0; tile < split.tiles; ++tile) {
      const int row = split.Begin(tile);
      float* out = op.out + row * op.out_stride + panel * kPanel;
      RunTile<Isa>(split.Count(tile), {.x = op.x + row * op.x_stride + k,
                                       .x_stride = op.x_stride,
                                       .weight = weight + static_cast<ptrdiff_t>(k) * kPanel,
                                       .count = count,
                                       .out = out,
                                       .out_stride = op.out_stride,
                                       .first = k == 0});
      if (k + count == op.inner) Finish(bias, op.gelu, split.Count(tile), out, op.out_stride);
    }
  }
}

// The last panel where `columns` do not fill it.
template <typename Isa>
void PartPanel(const PackedLinear& op, const RowSplit& split, int panel) {
  const int columns = op.columns - panel * kPanel;
  alignas(64) float bias[kPanel] = {};
  for (int i = 0; op.bias != nullptr && i < columns; ++i) bias[i] = op.bias[panel * kPanel + i];
  alignas(64) float part[Isa::kRows * kPanel];
  for (int tile = 0; tile < split.tiles; ++tile) {
    const int begin = split.Begin(tile);
    const int rows = split.Count(tile);
    RunTile<Isa>(rows, {.x = op.x + begin * op.x_stride,
                        .x_stride = op.x_stride,
                        .weight = op.weight + static_cast<ptrdiff_t>(panel) * op.inner * kPanel,
                        .count = op.inner,
                        .out = part,
                        .out_stride = kPanel,
                        .first = true});
    Finish(op.bias != nullptr ? bias : nullptr, op.gelu, rows, part, kPanel);
    for (int row = 0; row < rows; ++row) {
      float* out = op.out + (begin + row) * op.out_stride + panel * kPanel;
      for (int i = 0; i < columns; ++i) out[i] = part[row * kPanel + i];
    }
  }
}

template <typename Isa>
void RunPanels(const PackedLinear& op) {
  const RowSplit split{op.rows, (op.rows + Isa::kRows - 1) / Isa::kRows};
  for (int panel = op.panel_begin; panel < op.panel_end; ++panel) {
    if (op.columns - panel * kPanel >= kPanel) {
      WholePanel<Isa>(op, split, panel);
    } else {
      PartPanel<Isa>(op, split, panel);
    }
  }
}

}  // namespace
}  // namespace scanline
