// The errors of the exponential, softplus and SiLU inside the kernels on tiles, seen through one
// token.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/kernels/kernels_here.h"
#include "tests/model/kernels/tiled.h"

namespace scanline::testing {
namespace {

constexpr int kWidth = 1024;
constexpr float kDt = 32;  // softplus(32) is 32 in fp32, and 32 a2 is exact

// 2^(32 a2) for each: the state 1 after a token without input.
std::vector<float> Decays(const Kernels& kernels, const std::vector<float>& a2, float dt) {
  Aligned<float> u(kTileTokens * kWidth), y(kTileTokens * kWidth);
  Aligned<float> delta(kTileTokens * kWidth, dt), h(a2.size(), 1.0F), packed(a2.size());
  Aligned<float> zeros(kWidth);
  std::copy(a2.begin(), a2.end(), packed.data());
  kernels.scan_tile({.count = 1,
                     .channels = kWidth,
                     .state = static_cast<int>(a2.size()) / kWidth,
                     .u = u.data(),
                     .delta = delta.data(),
                     .b = zeros.data(),
                     .c = zeros.data(),
                     .bc_stride = kWidth,
                     .a2 = packed.data(),
                     .d = zeros.data(),
                     .delta_bias = zeros.data(),
                     .h = h.data(),
                     .y = y.data()});
  return {h.data(), h.data() + a2.size()};
}

// Calls visit(x, 2^x) for a dense grid of x from -126 to 0.
template <typename Visit>
void ForDecays(const Kernels& kernels, const Visit& visit) {
  constexpr int kState = 16;
  constexpr int kBatch = kWidth * kState;
  constexpr int kSteps = 126 * 16384;
  std::vector<float> a2(kBatch);
  const auto run = [&] {
    const std::vector<float> decays = Decays(kernels, a2, kDt);
    for (int i = 0; i < kBatch; ++i) visit(static_cast<double>(a2[i]) * kDt, decays[i]);
  };
  for (int begin = 0; begin < kSteps; begin += kBatch) {
    for (int i = 0; i < kBatch; ++i) {
      const double x = -126.0 * std::min(begin + i, kSteps) / kSteps;
      a2[i] = static_cast<float>(x / kDt);
    }
    run();
  }
  // Every third float from -1/16 to -1/32, and as many on a logarithmic scale from -1 to -1e-9.
  for (float x = -1.0F / 16; x < -1.0F / 32;) {
    for (float& value : a2) {
      value = x / kDt;
      for (int skip = 0; skip < 3; ++skip) x = std::nextafter(x, 0.0F);
    }
    run();
  }
  for (int begin = 0; begin < 64 * kBatch; begin += kBatch) {
    for (int i = 0; i < kBatch; ++i) {
      a2[i] = -static_cast<float>(std::pow(10.0, -9.0 * (begin + i) / (64.0 * kBatch)) / kDt);
    }
    run();
  }
}

TEST(TileMath, DecaysAreRightToAnUlpOrTwo) {
  for (const Kernels* kernels : KernelsHere()) {
    double most = 0, at = 0;
    int biased = 0;
    ForDecays(*kernels, [&](double x, double decay) {
      const double error = std::abs(decay / std::exp2(x) - 1);
      if (error > most) most = error, at = x;
      // Near 1 the rounding of the result is all there is: 1 - decay decides how much a slow
      // state holds.
      const double left = -std::expm1(x * std::log(2.0));
      if (x > -1.0 / 32 && std::abs(1 - decay - left) > 0x1p-25 + 1e-6 * left) ++biased;
    });
    EXPECT_LE(most, 1.8e-7) << kernels->name << " at " << at;
    EXPECT_EQ(biased, 0) << kernels->name;
  }
}

TEST(TileMath, DecaysAtTheEnds) {
  for (const Kernels* kernels : KernelsHere()) {
    const auto all = [&](float a2, float dt) {
      const auto decays = Decays(*kernels, std::vector<float>(kWidth * kStates, a2), dt);
      for (const float decay : decays) {
        if (decay != decays[0]) return std::nanf("");
      }
      return decays[0];
    };
    EXPECT_EQ(all(0.0F, kDt), 1.0F) << kernels->name;  // A bias would be compounded by each token.
    EXPECT_EQ(all(-0.0F, kDt), 1.0F) << kernels->name;
    EXPECT_EQ(all(-1.0F, -200.0F), 1.0F) << kernels->name;  // no step at all
    EXPECT_EQ(all(-126 / kDt, kDt), 0x1p-126F) << kernels->name;
    for (const float a2 : {-126.001F / kDt, -1e3F, -1e37F, -3e38F}) {
      EXPECT_LE(all(a2, kDt), 0x1p-126F) << kernels->name << " " << a2;
      EXPECT_GE(all(a2, kDt), 0.0F) << kernels->name << " " << a2;
    }
    EXPECT_EQ(all(-1.0F, 3e38F), 0.0F) << kernels->name;
  }
}

// dt of each: the state after a first token with u = 1 and B = 1.
std::vector<float> Softplus(const Kernels& kernels, const std::vector<float>& x) {
  Aligned<float> u(kTileTokens * kWidth, 1.0F), y(kTileTokens * kWidth);
  Aligned<float> delta(kTileTokens * kWidth), h(kWidth * kStates), zeros(kWidth * kStates);
  Aligned<float> ones(kWidth, 1.0F);
  for (size_t c = 0; c < kWidth; ++c) delta[InBlock(c)] = x[c];
  kernels.scan_tile({.count = 1,
                     .channels = kWidth,
                     .state = kStates,
                     .u = u.data(),
                     .delta = delta.data(),
                     .b = ones.data(),
                     .c = zeros.data(),
                     .bc_stride = kWidth,
                     .a2 = zeros.data(),
                     .d = zeros.data(),
                     .delta_bias = zeros.data(),
                     .h = h.data(),
                     .y = y.data()});
  std::vector<float> steps;
  for (int c = 0; c < kWidth; ++c) {
    steps.push_back(h[static_cast<size_t>(c / kBlock * kStates * kBlock + c % kBlock)]);
  }
  return steps;
}

std::vector<float> Silu(const Kernels& kernels, const std::vector<float>& x) {
  Aligned<float> half(kTileTokens * kWidth, 0.5F), z(kTileTokens * kWidth);
  for (size_t c = 0; c < kWidth; ++c) z[InBlock(c)] = x[c];
  Aligned<float> out(kTileTokens * kWidth);
  kernels.gate_tile({.count = 1,
                     .channels = kWidth,
                     .forward = half.data(),
                     .backward = half.data(),
                     .z = z.data(),
                     .out = out.data()});
  std::vector<float> values;
  for (size_t c = 0; c < kWidth; ++c) values.push_back(out[InBlock(c)]);
  return values;
}

TEST(TileMath, SoftplusAndSiluKeepRelativePrecision) {
  for (const Kernels* kernels : KernelsHere()) {
    double most_softplus = 0, most_silu = 0;
    for (int batch = 0; batch < 250; ++batch) {
      std::vector<float> x(kWidth);
      for (int i = 0; i < kWidth; ++i) {
        x[i] = -80.0F + 120.0F * static_cast<float>(batch * kWidth + i) / (250.0F * kWidth);
      }
      const auto softplus = Softplus(*kernels, x), silu = Silu(*kernels, x);
      for (int i = 0; i < kWidth; ++i) {
        const double v = x[i];
        const double want = std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v)));
        most_softplus = std::max(most_softplus, std::abs(softplus[i] / want - 1));
        const double gate = v / (1 + std::exp(-v));
        if (v != 0) most_silu = std::max(most_silu, std::abs(silu[i] / gate - 1));
      }
    }
    EXPECT_LE(most_softplus, 3e-7) << kernels->name;
    EXPECT_LE(most_silu, 3e-7) << kernels->name;
  }
}

}  // namespace
}  // namespace scanline::testing
