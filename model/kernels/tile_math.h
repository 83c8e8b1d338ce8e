#pragma once

// Only for the *_tiles.cc files: the functions of a mixer on vectors. `Simd` is an instruction set:
//   Vector, kLanes                      floats side by side, with the operators + - *
//   kFractions, Table()                 2^(i / kFractions) * 2^-i in the exponent's place
//   Fma(a, b, c)                        a b + c
//   Div, Max, Min                       Max and Min return the second operand when one is a NaN
//   Magnitude(x)                        |x|
//   ScaleByTable(table, t)              see Power
//   ZeroWhereBelow(x, limit, value)     value, 0 where x < limit; a NaN in x keeps value
// Internal linkage, as in avx2_math.h. To be compiled without contraction of a * b + c: the vector
// units have adders beside their multipliers, and a rounded product must be the same everywhere.

namespace scanline {
namespace {

template <typename Simd>
inline typename Simd::Vector Set(float value) {
  return Simd::Broadcast(&value);
}

// Polynomials for 2^f = 1 + f (c1 + c2 f + c3 f^2), |f| <= 1 / (2 kFractions). c1 is ln 2, so that
// decays near 1 are right to first order (an error of the slope would be compounded by every
// token); c2 and c3 take up most of what the next two terms of the series leave.
template <int kFractions>
struct Exp2Polynomial;

template <>
struct Exp2Polynomial<16> {  // 2^f - 1 within 1.1e-7 of itself
  static constexpr float c1 = 0.6931471805599453f;
  static constexpr float c2 = 0.2402335514872557f;
  static constexpr float c3 = 0.0555051894122104f;
};

template <>
struct Exp2Polynomial<8> {  // within 8.7e-7
  static constexpr float c1 = 0.6931471805599453f;
  static constexpr float c2 = 0.2402546850717207f;
  static constexpr float c3 = 0.05550843165437686f;
};

// Adding it rounds to a multiple of 1 / kFractions, which then stands in the lowest bits.
template <typename Simd>
constexpr float kRounder = 12582912.0f / Simd::kFractions;  // 1.5 * 2^23

// 2^x as scale (1 + rest).
template <typename Simd>
struct Power {
  typename Simd::Vector scale;
  typename Simd::Vector rest;
};

template <typename Simd>
inline typename Simd::Vector Expm1OfFraction(typename Simd::Vector f) {
  using Coefficients = Exp2Polynomial<Simd::kFractions>;
  auto q = Simd::Fma(Set<Simd>(Coefficients::c3), f, Set<Simd>(Coefficients::c2));
  q = Simd::Fma(q, f, Set<Simd>(Coefficients::c1));
  return q * f;
}

inline constexpr float kLowestExponent = -126;  // of normal numbers

// 2^x for x <= 0. 2^0 is exactly 1. With kFarDown, 0 below kLowestExponent; without it x must not
// be there. Same bits from both otherwise.
template <typename Simd, bool kFarDown>
inline Power<Simd> Exp2(typename Simd::Vector table, typename Simd::Vector x) {
  const auto t = x + Set<Simd>(kRounder<Simd>);
  auto f = x - (t - Set<Simd>(kRounder<Simd>));
  auto scale = Simd::ScaleByTable(table, t);
  if constexpr (kFarDown) {
    f = Simd::ZeroWhereBelow(x, Set<Simd>(kLowestExponent), f);
    scale = Simd::ZeroWhereBelow(x, Set<Simd>(kLowestExponent), scale);
  }
  return {scale, Expm1OfFraction<Simd>(f)};
}

// e^x, x held to [-87, 87]. log2(e) in two parts, so that the error does not grow with x.
template <typename Simd>
inline typename Simd::Vector Exp(typename Simd::Vector table, typename Simd::Vector x) {
  x = Simd::Min(Set<Simd>(87.0f), Simd::Max(Set<Simd>(-87.0f), x));
  const auto t = Simd::Fma(x, Set<Simd>(1.44269502f), Set<Simd>(kRounder<Simd>));
  auto f = Simd::Fma(x, Set<Simd>(1.44269502f), Set<Simd>(kRounder<Simd>) - t);
  f = Simd::Fma(x, Set<Simd>(1.92596303e-8f), f);
  const auto scale = Simd::ScaleByTable(table, t);
  return Simd::Fma(scale, Expm1OfFraction<Simd>(f), scale);
}

template <typename Simd>
inline typename Simd::Vector Silu(typename Simd::Vector table, typename Simd::Vector x) {
  const auto zero = Set<Simd>(0.0f);
  return Simd::Div(x, Set<Simd>(1.0f) + Exp<Simd>(table, zero - x));
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|), and log1p(e) = 2 atanh(s), s = e / (2 + e) <= 1/3:
// small results keep their relative precision, which a plain log(1 + e) would lose.
template <typename Simd>
inline typename Simd::Vector Softplus(typename Simd::Vector table, typename Simd::Vector x) {
  const auto zero = Set<Simd>(0.0f);
  const auto e = Exp<Simd>(table, zero - Simd::Magnitude(x));
  const auto s = Simd::Div(e, Set<Simd>(2.0f) + e);
  const auto w = s * s;
  auto p = Set<Simd>(0.14095773599318537f);
  p = Simd::Fma(p, w, Set<Simd>(0.13978833043937505f));
  p = Simd::Fma(p, w, Set<Simd>(0.20012557137722942f));
  p = Simd::Fma(p, w, Set<Simd>(0.33333155073548676f));
  p = Simd::Fma(p, w, Set<Simd>(1.0f));
  return Simd::Fma(s + s, p, Simd::Max(zero, x));
}

}  // namespace
}  // namespace scanline
