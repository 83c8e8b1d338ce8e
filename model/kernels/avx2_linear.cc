#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/linear_tiles.h"

namespace scanline {
namespace {

struct Avx2 {
  static constexpr int kRows = 6;  // 12 sums, 2 weights and an input in 16 registers
  static constexpr int kColumns = 16;

  template <int kCount>
  static void Run(const Tile& tile) {
    for (int column = 0; column < kPanel; column += kColumns) Part<kCount>(tile, column);
  }

  template <int kCount>
  static void Part(const Tile& tile, int column) {
    constexpr int kGroups = (kCount + 2) / 3;  // of three rows: one pointer, three addresses
    const float* x[kGroups];
    for (int g = 0; g < kGroups; ++g) x[g] = tile.x + 3 * g * tile.x_stride;
    __m256 low[kCount];
    __m256 high[kCount];
#pragma GCC unroll 6
    for (int r = 0; r < kCount; ++r) {
      const float* out = tile.out + r * tile.out_stride + column;
      low[r] = tile.first ? _mm256_setzero_ps() : _mm256_loadu_ps(out);
      high[r] = tile.first ? _mm256_setzero_ps() : _mm256_loadu_ps(out + 8);
    }
    const float* weight = tile.weight + column;
    for (int k = 0; k < tile.count; ++k, weight += kPanel) {
      _mm_prefetch(weight + kAhead, _MM_HINT_T0);
      const __m256 w0 = _mm256_loadu_ps(weight);
      const __m256 w1 = _mm256_loadu_ps(weight + 8);
#pragma GCC unroll 6
      for (int r = 0; r < kCount; ++r) {
        const __m256 value = _mm256_set1_ps(x[r / 3][r % 3 * tile.x_stride]);
        low[r] = _mm256_fmadd_ps(value, w0, low[r]);
        high[r] = _mm256_fmadd_ps(value, w1, high[r]);
      }
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) ++x[g];
    }
#pragma GCC unroll 6
    for (int r = 0; r < kCount; ++r) {
      float* out = tile.out + r * tile.out_stride + column;
      _mm256_storeu_ps(out, low[r]);
      _mm256_storeu_ps(out + 8, high[r]);
    }
  }
};

}  // namespace

void PackedLinearAvx2(const PackedLinear& op) { RunPanels<Avx2>(op); }

}  // namespace scanline
