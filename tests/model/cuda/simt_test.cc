// The shim itself: what it runs rightly, and that it catches what it is there to catch.
#include "model/cuda/simt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "model/cuda/device.h"
#include "tests/model/cuda/device_memory.h"

namespace scanline::cuda::testing {
namespace {

using ::testing::HasSubstr;

struct Sums {
  const float* in;
  float* out;
  int count;
  int past;  // how far beyond the end a thread reads or writes
};
constexpr int kThreads = 96;
struct alignas(16) Buffer {
  float value[kThreads];
};

// Each thread gives its neighbour's value back.
__global__ void Neighbours(const Sums op) {
  SCANLINE_SHARED(Buffer, shared);
  shared.value[threadIdx.x] = op.in[threadIdx.x];
  SyncBlock();
  op.out[threadIdx.x] = shared.value[(threadIdx.x + 1) % kThreads];
}

__global__ void WritesSharedPast(const Sums op) {
  SCANLINE_SHARED(Buffer, shared);
  float* value = shared.value;
  value[threadIdx.x + op.past] = op.in[threadIdx.x];
}

__global__ void ReadsPast(const Sums op) { op.out[threadIdx.x] = op.in[threadIdx.x + op.past]; }

__global__ void DivergentBarrier(const Sums op) {
  if (threadIdx.x < 32) {
    SyncBlock();
  } else {
    SyncBlock();
  }
  op.out[threadIdx.x] = 1;
}

__global__ void BarrierOfSome(const Sums op) {
  if (threadIdx.x == 7) return;
  SyncBlock();
  op.out[threadIdx.x] = 1;
}

__global__ void ShuffleOfSome(const Sums op) {
  float value = op.in[threadIdx.x];
  if (threadIdx.x % 32 < 16) value = ShuffleXor(value, 1);
  SyncBlock();
  op.out[threadIdx.x] = value;
}

__global__ void ForgetsACopy(const Sums op) {
  struct alignas(16) Row {
    float value[4];
  };
  SCANLINE_SHARED(Row, shared);
  for (int i = 0; i < 32; ++i) CopyAsync(shared.value, op.in, true);
}

// What the hardware refuses: 16 bytes to an address that is not a multiple of 16.
__global__ void CopiesAskew(const Sums op) {
  SCANLINE_SHARED(Buffer, shared);
  CopyAsync(shared.value + (threadIdx.x == 0 ? 2 : 0), op.in, true);
  CopyWait();
}

__global__ void SumsOfWarps(const Sums op) {
  float value = op.in[threadIdx.x];
  for (int mask = 16; mask > 0; mask /= 2) value += ShuffleXor(value, mask);
  op.out[threadIdx.x] = value;
}

// c = a b of one warp, rows of 16 values.
struct Product {
  const float* a;  // [16][16]
  const float* b;  // [8][16]
  float* c;        // [16][8]
};
__global__ void Multiplies(const Product op) {
  const int row = static_cast<int>(threadIdx.x) / 4;
  const int column = static_cast<int>(threadIdx.x) % 4 * 2;
  const auto pair = [](const float* from) { return PackBf16(from[0], from[1]); };
  const uint32_t a[4] = {pair(op.a + row * 16 + column), pair(op.a + (row + 8) * 16 + column),
                         pair(op.a + row * 16 + column + 8),
                         pair(op.a + (row + 8) * 16 + column + 8)};
  float c[4] = {};
  Mma(c, a, pair(op.b + row * 16 + column), pair(op.b + row * 16 + column + 8));
  for (int i = 0; i < 4; ++i) op.c[(row + i / 2 * 8) * 8 + column + i % 2] = c[i];
}

std::string Failure(void (*kernel)(const Sums)) {
  Device<float> in(Numbers(kThreads, 1, -1, 1));
  Device<float> out(kThreads);
  try {
    simt::Launch<Sums>(kernel, {2, 1, 1}, kThreads, {.in = in.get(), .out = out.get()}, nullptr);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

bool NeighboursAreRight() {
  const auto numbers = Numbers(kThreads, 1, -1, 1);
  Device<float> in(numbers);
  Device<float> out(kThreads);
  simt::Launch<Sums>(Neighbours, {1, 1, 1}, kThreads, {.in = in.get(), .out = out.get()}, nullptr);
  for (int i = 0; i < kThreads; ++i) {
    if (out.get()[i] != numbers[(i + 1) % kThreads]) return false;  // NaN is not either.
  }
  return true;
}

TEST(Simt, BarriersAreKeptInEveryOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    simt::SetOptions({.seed = seed});
    EXPECT_TRUE(NeighboursAreRight()) << seed;
  }
}

TEST(Simt, AMissingBarrierShows) {
  simt::SetOptions({});
  NeighboursAreRight();
  ASSERT_EQ(simt::SyncSites().size(), 1U);
  const std::string site = *simt::SyncSites().begin();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    simt::SetOptions({.seed = seed, .ignore = site});
    EXPECT_FALSE(NeighboursAreRight()) << seed;
  }
  simt::SetOptions({});
}

TEST(SimtDeathTest, AnIndexOutOfBoundsDies) {
  Device<float> in(Numbers(kThreads, 1, -1, 1));
  Device<float> out(kThreads);
  const Sums op{.in = in.get(), .out = out.get(), .past = 1};
  EXPECT_DEATH(simt::Launch<Sums>(ReadsPast, {1, 1, 1}, kThreads, op, nullptr), "");
  EXPECT_DEATH(simt::Launch<Sums>(WritesSharedPast, {1, 1, 1}, kThreads, op, nullptr), "");
}

TEST(Simt, NamesWhatCannotMeet) {
  EXPECT_THAT(Failure(DivergentBarrier), HasSubstr("divergent barrier"));
  EXPECT_THAT(Failure(DivergentBarrier), HasSubstr("simt_test.cc:"));
  EXPECT_THAT(Failure(BarrierOfSome), HasSubstr("thread 7 ended"));
  EXPECT_THAT(Failure(ShuffleOfSome), HasSubstr("deadlock"));
  EXPECT_THAT(Failure(ForgetsACopy), HasSubstr("never waited for"));
  EXPECT_THAT(Failure(CopiesAskew), HasSubstr("not aligned"));
  EXPECT_EQ(Failure(SumsOfWarps), "");  // It goes on after a failure.
}

TEST(Simt, ShufflesReachEveryLane) {
  const auto numbers = Numbers(kThreads, 1, -1, 1);
  Device<float> in(numbers);
  Device<float> out(kThreads);
  simt::Launch<Sums>(SumsOfWarps, {1, 1, 1}, kThreads, {.in = in.get(), .out = out.get()}, nullptr);
  for (int i = 0; i < kThreads; ++i) {
    double sum = 0;
    for (int k = 0; k < 32; ++k) sum += numbers[i / 32 * 32 + k];
    EXPECT_NEAR(out.get()[i], sum, 1e-5) << i;
  }
}

TEST(Simt, TheMatrixInstructionMultiplies) {
  std::vector<float> a(16 * 16);
  std::vector<float> b(8 * 16);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9);
  Device<float> a_there(a), b_there(b), c_there(16 * 8);
  simt::Launch<Product>(Multiplies, {1, 1, 1}, 32, {a_there.get(), b_there.get(), c_there.get()},
                        nullptr);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a[row * 16 + k] * b[column * 16 + k];
      EXPECT_EQ(c_there.get()[row * 8 + column], sum) << row << " " << column;
    }
  }
}

TEST(Simt, RoundsToBf16ToNearestEven) {
  const auto rounded = [](float value) { return simt::AsFloat(simt::PackBf16(value, 0) << 16); };
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(1.00390625F), 1.0F);       // half way, down to even
  EXPECT_EQ(rounded(1.01171875F), 1.015625F);  // half way, up to even
  EXPECT_EQ(rounded(-3.3895313e38F), -3.3895313e38F);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
  EXPECT_TRUE(std::isinf(rounded(3.4028234e38F)));
}

// log1p(exp(v)), relative to itself, where 1 + exp(v) would lose it too.
TEST(Device, SoftplusKeepsItsPrecisionFarBelowZero) {
  for (double v = -60; v <= 60; v += 0.013) {
    const auto given = static_cast<float>(v);
    const double want = std::log1p(std::exp(double{given}));
    EXPECT_NEAR(Softplus(given) / want, 1, 4e-6 * std::max(1.0, std::abs(v) / 16)) << v;
  }
}

// The hardware's functions are off by up to 2^-22 and 2^-11 of their result (PTX ISA).
TEST(Device, ApproximateFunctionsCostWhatIsPromised) {
  simt::SetOptions({.approximate = true});
  double worst_fast = 0;
  for (double x = -60; x <= 60; x += 0.013) {
    const auto given = static_cast<float>(x);
    const double softplus = std::log1p(std::exp(double{given}));
    EXPECT_NEAR(Softplus(given) / softplus, 1, 4e-6 * std::max(1.0, std::abs(x) / 16)) << x;
    const double silu = double{given} / (1 + std::exp(-double{given}));
    EXPECT_NEAR(Silu<float>(given), silu, 4e-6 * std::abs(silu) + 1e-30) << x;
    worst_fast = std::max(worst_fast, std::abs(Silu<Bf16>(given) - silu) / std::abs(x));
  }
  simt::SetOptions({});
  EXPECT_LE(worst_fast, 2.5e-4);
  EXPECT_GE(worst_fast, 1e-4) << "the shim's functions are exact";
}

TEST(Device, SiluOfEitherType) {
  for (double x = -90; x <= 90; x += 0.37) {
    const auto given = static_cast<float>(x);
    const double want = double{given} / (1 + std::exp(-double{given}));
    EXPECT_NEAR(Silu<float>(given), want, 4e-6 * std::abs(want) + 1e-30) << x;
    EXPECT_NEAR(Silu<Bf16>(given), want, 1e-6 * std::abs(x)) << x;
  }
}

}  // namespace
}  // namespace scanline::cuda::testing
