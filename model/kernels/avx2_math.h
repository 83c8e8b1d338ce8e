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

// 2^x for x <= 0, relative error below 1.3e-7; 2^-125 for anything smaller. 2^0 is exactly 1: a
// bias there would be compounded by every token. Minimax on [-1/2, 1/2] with that constraint.
inline __m256 Exp2NonPositive(__m256 x) {
  x = _mm256_max_ps(Set(-125.0f), x);  // In this order a NaN is kept.
  const __m256 n = Round(x);
  const __m256 f = _mm256_sub_ps(x, n);
  __m256 p = Set(0.0001535336206245977f);
  p = _mm256_fmadd_ps(p, f, Set(0.001339887455714204f));
  p = _mm256_fmadd_ps(p, f, Set(0.009618437358236101f));
  p = _mm256_fmadd_ps(p, f, Set(0.055503324707835366f));
  p = _mm256_fmadd_ps(p, f, Set(0.24022647913615686f));
  p = _mm256_fmadd_ps(p, f, Set(0.693147202855211f));
  p = _mm256_fmadd_ps(p, f, Set(1.0f));
  return ScaleByPowerOfTwo(p, n);
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

inline __m256 Silu(__m256 x) {
  const __m256 e = Exp(_mm256_sub_ps(_mm256_setzero_ps(), x));
  return _mm256_div_ps(x, _mm256_add_ps(Set(1.0f), e));
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|), and log1p(e) = 2 atanh(s), s = e / (2 + e) <= 1/3:
// small results keep their relative precision, which a plain log(1 + e) would lose.
inline __m256 Softplus(__m256 x) {
  const __m256 e = Exp(_mm256_or_ps(x, Set(-0.0f)));
  const __m256 s = _mm256_div_ps(e, _mm256_add_ps(Set(2.0f), e));
  const __m256 w = _mm256_mul_ps(s, s);
  __m256 p = Set(0.14095773599318537f);
  p = _mm256_fmadd_ps(p, w, Set(0.13978833043937505f));
  p = _mm256_fmadd_ps(p, w, Set(0.20012557137722942f));
  p = _mm256_fmadd_ps(p, w, Set(0.33333155073548676f));
  p = _mm256_fmadd_ps(p, w, Set(1.0f));
  const __m256 positive = _mm256_max_ps(_mm256_setzero_ps(), x);  // In this order a NaN is kept.
  return _mm256_fmadd_ps(_mm256_add_ps(s, s), p, positive);
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
