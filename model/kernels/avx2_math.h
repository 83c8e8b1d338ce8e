#pragma once

// Only for the avx2_*.cc files: everything here has internal linkage, so that no code compiled for
// AVX2 can be picked by the linker for another file.

#include <immintrin.h>

namespace scanline {
namespace {

inline __m256 Set(float value) { return _mm256_set1_ps(value); }

// q * 2^n, for n a whole number as float and q near 1: adds n to q's exponent. NaN stays NaN.
inline __m256 ScaleByPowerOfTwo(__m256 q, __m256 n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(q), exponent));
}

inline __m256 Round(__m256 x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// e^x, relative error below 2e-7, x held to [-87, 88]. ln 2 is taken away in two parts, so that the
// error does not grow with x.
inline __m256 Exp(__m256 x) {
  x = _mm256_min_ps(Set(88.0f), _mm256_max_ps(Set(-87.0f), x));
  const __m256 n = Round(_mm256_mul_ps(x, Set(1.44269504088896341f)));
  __m256 r = _mm256_fnmadd_ps(n, Set(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, Set(-2.12194440e-4f), r);
  __m256 p = Set(0.0013843559923594918f);
  p = _mm256_fmadd_ps(p, r, Set(0.008374236035371796f));
  p = _mm256_fmadd_ps(p, r, Set(0.04166800742374735f));
  p = _mm256_fmadd_ps(p, r, Set(0.16666430336400168f));
  p = _mm256_fmadd_ps(p, r, Set(0.49999994174175816f));
  p = _mm256_fmadd_ps(p, r, Set(1.0f));
  p = _mm256_fmadd_ps(p, r, Set(1.0f));
  return ScaleByPowerOfTwo(p, n);
}

// 0.5 x (1 + erf(x / sqrt 2)); erf by Abramowitz and Stegun 7.1.26, off by less than 1.5e-7.
inline __m256 Gelu(__m256 x) {
  const __m256 sign = _mm256_and_ps(x, Set(-0.0f));
  const __m256 z = _mm256_mul_ps(_mm256_andnot_ps(Set(-0.0f), x), Set(0.70710678118654752f));
  const __m256 t = _mm256_div_ps(Set(1.0f), _mm256_fmadd_ps(z, Set(0.3275911f), Set(1.0f)));
  __m256 p = Set(1.061405429f);
  p = _mm256_fmadd_ps(p, t, Set(-1.453152027f));
  p = _mm256_fmadd_ps(p, t, Set(1.421413741f));
  p = _mm256_fmadd_ps(p, t, Set(-0.284496736f));
  p = _mm256_fmadd_ps(p, t, Set(0.254829592f));
  const __m256 e = Exp(_mm256_fnmadd_ps(z, z, _mm256_setzero_ps()));
  const __m256 erf = _mm256_or_ps(_mm256_fnmadd_ps(_mm256_mul_ps(p, t), e, Set(1.0f)), sign);
  return _mm256_mul_ps(_mm256_mul_ps(Set(0.5f), x), _mm256_add_ps(Set(1.0f), erf));
}

}  // namespace
}  // namespace scanline
