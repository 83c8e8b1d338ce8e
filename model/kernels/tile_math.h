#pragma once

// Only for the *_tiles.cc files: the functions of a mixer on vectors. `Simd` is an instruction set:
//   Vector, kLanes                   floats side by side, with the operators + - *
//   Set(value), Broadcast(from)      one value in all lanes, a constant or from memory
//   kFractions, Table()              the bits of 2^(i / kFractions) for i = 0 .. kFractions - 1, of
//                                    which i / kFractions is taken away in the exponent's place
//   ScaleByTable(table, t)           2^x for t = x + kRounder: to the entry of t's lowest bits, t
//                                    is added in the exponent's place
//   Fma(a, b, c), Div, MinusMagnitude(x)       a b + c, a / b, -|x|
//   Max, Min                         give the second operand when one is a NaN
//   ZeroWhereBelow(x, limit, value)  value, and 0 where x < limit, which a NaN is not
//   AnyBelow(x, limit)               in any lane
// Internal linkage, as in avx2_math.h. To be compiled without contraction of a * b + c: the vector
// units have adders beside their multipliers, and a rounded product must be the same everywhere.

namespace scanline {
namespace {

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

// A power of two: scale 2^rest, scale 2 to a multiple of 1 / kFractions.
template <typename Simd>
struct Power {
  typename Simd::Vector scale;
  typename Simd::Vector rest;

  typename Simd::Vector Times(typename Simd::Vector value) const {
    using Polynomial = Exp2Polynomial<Simd::kFractions>;
    auto q = Simd::Fma(Simd::Set(Polynomial::c3), rest, Simd::Set(Polynomial::c2));
    q = Simd::Fma(q, rest, Simd::Set(Polynomial::c1));
    value = value * scale;
    return Simd::Fma(value * rest, q, value);
  }
};

constexpr float kLowestExponent = -126;  // of normal numbers

// 2^x for x <= 0, exactly 1 for 0. With kFarDown, 0 below kLowestExponent; without it no x may be
// there. Otherwise both give the same bits.
template <typename Simd, bool kFarDown>
inline Power<Simd> Exp2(typename Simd::Vector table, typename Simd::Vector x) {
  const auto t = x + Simd::Set(kRounder<Simd>);
  auto rest = x - (t - Simd::Set(kRounder<Simd>));
  auto scale = Simd::ScaleByTable(table, t);
  if constexpr (kFarDown) {
    rest = Simd::ZeroWhereBelow(x, Simd::Set(kLowestExponent), rest);
    scale = Simd::ZeroWhereBelow(x, Simd::Set(kLowestExponent), scale);
  }
  return {scale, rest};
}

// e^x for x from -87 to 87. log2(e) in two parts, so that the error does not grow with x.
template <typename Simd>
inline typename Simd::Vector Exp(typename Simd::Vector table, typename Simd::Vector x) {
  const auto high = Simd::Set(1.44269502f);
  const auto t = Simd::Fma(x, high, Simd::Set(kRounder<Simd>));
  auto rest = Simd::Fma(x, high, Simd::Set(kRounder<Simd>) - t);
  rest = Simd::Fma(x, Simd::Set(1.92596303e-8f), rest);
  return Power<Simd>{Simd::ScaleByTable(table, t), rest}.Times(Simd::Set(1.0f));
}

template <typename Simd>
inline typename Simd::Vector Silu(typename Simd::Vector table, typename Simd::Vector x) {
  const auto held = Simd::Min(Simd::Set(87.0f), Simd::Max(Simd::Set(-87.0f), x));
  return Simd::Div(x, Simd::Set(1.0f) + Exp<Simd>(table, Simd::Set(0.0f) - held));
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|), and log1p(e) = 2 atanh(s), s = e / (2 + e) <= 1/3:
// small results keep their relative precision, which a plain log(1 + e) would lose.
template <typename Simd>
inline typename Simd::Vector Softplus(typename Simd::Vector table, typename Simd::Vector x) {
  const auto e = Exp<Simd>(table, Simd::Max(Simd::Set(-87.0f), Simd::MinusMagnitude(x)));
  const auto s = Simd::Div(e, Simd::Set(2.0f) + e);
  const auto w = s * s;
  auto p = Simd::Set(0.14095773599318537f);
  p = Simd::Fma(p, w, Simd::Set(0.13978833043937505f));
  p = Simd::Fma(p, w, Simd::Set(0.20012557137722942f));
  p = Simd::Fma(p, w, Simd::Set(0.33333155073548676f));
  p = Simd::Fma(p, w, Simd::Set(1.0f));
  return Simd::Fma(s + s, p, Simd::Max(Simd::Set(0.0f), x));
}

}  // namespace
}  // namespace scanline
