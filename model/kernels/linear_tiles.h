#pragma once

// Only for the *_linear.cc files: the walk over panels and tiles that instruction sets share.
// Internal linkage, as in avx2_math.h.

#include <utility>

#include "model/kernels/avx2_math.h"
#include "model/kernels/ops.h"

namespace scanline {
namespace {

inline constexpr int kColumnBlock = 16;  // of x and out

// Floats of a panel that are asked for ahead of their use. With few rows the weights stream from
// memory, and the hardware's own prefetching stops at every page: 1.7 times as fast with it.
inline constexpr int kAhead = 64 * kPanel;

// A few rows times some columns of one panel.
struct Tile {
  const float* x;  // at its first row
  ptrdiff_t x_stride;
  ptrdiff_t x_block;
  int inner;
  const float* weight;  // [inner][kPanel]
  const float* bias;    // [kPanel] or none
  float* out;           // at its first row and the panel's first column
  ptrdiff_t out_stride;
  ptrdiff_t out_block;
  int columns;  // of the panel that exist

  float* Out(int row, int column) const {
    return out + column / kColumnBlock * out_block + row * out_stride + column % kColumnBlock;
  }
};

// Columns [column, column + kVectors * Isa::kLanes) of kRows rows: sums stay in registers.
template <typename Isa, int kRows, int kVectors>
void Multiply(const Tile& tile, int column) {
  using Vector = typename Isa::Vector;
  constexpr int kGroups = (kRows + 2) / 3;  // of three rows: one pointer, three addresses
  const ptrdiff_t stride = tile.x_stride;
  const float* x[kGroups];
  for (int g = 0; g < kGroups; ++g) x[g] = tile.x + 3 * g * stride;
  Vector sums[kRows * kVectors];
#pragma GCC unroll 32
  for (int i = 0; i < kRows * kVectors; ++i) sums[i] = Isa::Zero();

  const float* weight = tile.weight + column;
  for (int k = 0; k < tile.inner; k += kColumnBlock) {
    const int end = tile.inner - k < kColumnBlock ? tile.inner - k : kColumnBlock;
    if (end < tile.inner - k) {
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        _mm_prefetch(x[row / 3] + row % 3 * stride + tile.x_block, _MM_HINT_T0);
      }
    }
    for (int i = 0; i < end; ++i, weight += kPanel) {
      Vector w[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        w[v] = Isa::Load(weight + v * Isa::kLanes);
        if (v * Isa::kLanes % 16 == 0) _mm_prefetch(weight + kAhead + v * Isa::kLanes, _MM_HINT_T0);
      }
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const Vector value = Isa::Broadcast(x[row / 3] + row % 3 * stride);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          sums[row * kVectors + v] = Isa::MultiplyAdd(value, w[v], sums[row * kVectors + v]);
        }
      }
#pragma GCC unroll 8
      for (int g = 0; g < kGroups; ++g) ++x[g];
    }
#pragma GCC unroll 8
    for (int g = 0; g < kGroups; ++g) x[g] += tile.x_block - kColumnBlock;
  }

  const ptrdiff_t out_stride = tile.out_stride;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const int at = column + v * Isa::kLanes;
    const int lanes = tile.columns - at < Isa::kLanes ? tile.columns - at : Isa::kLanes;
    if (tile.bias != nullptr) {
      const Vector bias = Isa::LoadPart(tile.bias + at, lanes);
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        sums[row * kVectors + v] = Isa::Add(sums[row * kVectors + v], bias);
      }
    }
    float* out = tile.Out(0, at);
    if (lanes == Isa::kLanes) {
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row, out += out_stride) {
        Isa::Store(sums[row * kVectors + v], out);
      }
    } else {
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row, out += out_stride) {
        Isa::StorePart(sums[row * kVectors + v], out, lanes);
      }
    }
  }
}

// All columns of `rows` rows, known at run time, up to Isa::kRows.
template <typename Isa, int kRows = Isa::kRows>
void RunTile(int rows, const Tile& tile) {
  if constexpr (kRows > 0) {
    if (rows != kRows) return RunTile<Isa, kRows - 1>(rows, tile);
    for (int column = 0; column < tile.columns; column += 2 * Isa::kLanes) {
      if (tile.columns - column > Isa::kLanes) {
        Multiply<Isa, kRows, 2>(tile, column);
      } else {
        Multiply<Isa, kRows, 1>(tile, column);
      }
    }
  }
}

inline void GeluInPlace(int rows, const Tile& tile) {
  constexpr int kLanes = 8;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < tile.columns; column += kLanes) {
      float* out = tile.Out(row, column);
      const int lanes = tile.columns - column < kLanes ? tile.columns - column : kLanes;
      if (lanes == kLanes) {
        _mm256_storeu_ps(out, Gelu(_mm256_loadu_ps(out)));
      } else {
        alignas(32) float part[kLanes] = {};
        for (int i = 0; i < lanes; ++i) part[i] = out[i];
        _mm256_store_ps(part, Gelu(_mm256_load_ps(part)));
        for (int i = 0; i < lanes; ++i) out[i] = part[i];
      }
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

// The panel's weights stay in the caches over all rows.
template <typename Isa>
void RunPanels(const PackedLinear& op) {
  const RowSplit split{op.rows, (op.rows + Isa::kRows - 1) / Isa::kRows};
  for (int panel = op.panel_begin; panel < op.panel_end; ++panel) {
    const int column = panel * kPanel;
    for (int i = 0; i < split.tiles; ++i) {
      const int row = split.Begin(i);
      const Tile tile = {.x = op.x + row * op.x_stride,
                         .x_stride = op.x_stride,
                         .x_block = op.x_block,
                         .inner = op.inner,
                         .weight = op.weight + static_cast<ptrdiff_t>(column) * op.inner,
                         .bias = op.bias != nullptr ? op.bias + column : nullptr,
                         .out = op.out + op.OutAt(row, column),
                         .out_stride = op.out_stride,
                         .out_block = op.out_block,
                         .columns = op.columns - column < kPanel ? op.columns - column : kPanel};
      RunTile<Isa>(split.Count(i), tile);
      if (op.gelu) GeluInPlace(split.Count(i), tile);
    }
  }
}

}  // namespace
}  // namespace scanline
