#pragma once

// Only for the avx512_*linear.cc files. Internal linkage, as in avx2_math.h.

#include <immintrin.h>

namespace scanline {
namespace {

// What linear_tiles.h needs of an instruction set.
struct Avx512 {
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 13;  // 26 sums, 2 weights and an input in 32 registers

  static Vector Zero() { return _mm512_setzero_ps(); }
  static Vector Load(const float* from) { return _mm512_loadu_ps(from); }
  static Vector LoadPart(const float* from, int lanes) {
    return _mm512_maskz_loadu_ps(First(lanes), from);
  }
  static void Store(Vector y, float* to) { _mm512_storeu_ps(to, y); }
  static void StorePart(Vector y, float* to, int lanes) {
    _mm512_mask_storeu_ps(to, First(lanes), y);
  }
  static Vector Broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static Vector Add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector MultiplyAdd(Vector x, Vector w, Vector sum) { return _mm512_fmadd_ps(x, w, sum); }

  static __mmask16 First(int lanes) { return static_cast<__mmask16>((1U << lanes) - 1); }
};

}  // namespace
}  // namespace scanline
