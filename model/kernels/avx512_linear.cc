#include <immintrin.h>

#include "model/kernels/avx512.h"
#include "model/kernels/linear_tiles.h"

namespace scanline {
namespace {

struct Avx512 {
  static constexpr int kRows = 12;  // 24 sums, 2 weights and an input in 32 registers

  template <int kCount>
  static void Run(const Tile& tile) {
    constexpr int kGroups = (kCount + 2) / 3;  // of three rows: one pointer, three addresses
    const float* x[kGroups];
    for (int g = 0; g < kGroups; ++g) x[g] = tile.x + 3 * g * tile.x_stride;
    __m512 low[kCount];
    __m512 high[kCount];
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
      const float* out = tile.out + r * tile.out_stride;
      low[r] = tile.first ? _mm512_setzero_ps() : _mm512_loadu_ps(out);
      high[r] = tile.first ? _mm512_setzero_ps() : _mm512_loadu_ps(out + 16);
    }
    const float* weight = tile.weight;
    for (int k = 0; k < tile.count; ++k, weight += kPanel) {
      _mm_prefetch(weight + kAhead, _MM_HINT_T0);
      _mm_prefetch(weight + kAhead + 16, _MM_HINT_T0);
      const __m512 w0 = _mm512_loadu_ps(weight);
      const __m512 w1 = _mm512_loadu_ps(weight + 16);
#pragma GCC unroll 12
      for (int r = 0; r < kCount; ++r) {
        const __m512 value = _mm512_set1_ps(x[r / 3][r % 3 * tile.x_stride]);
        low[r] = _mm512_fmadd_ps(value, w0, low[r]);
        high[r] = _mm512_fmadd_ps(value, w1, high[r]);
      }
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) ++x[g];
    }
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
      float* out = tile.out + r * tile.out_stride;
      _mm512_storeu_ps(out, low[r]);
      _mm512_storeu_ps(out + 16, high[r]);
    }
  }
};

}  // namespace

void PackedLinearAvx512(const PackedLinear& op) { RunPanels<Avx512>(op); }

}  // namespace scanline
