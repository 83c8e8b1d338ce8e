// The selective scan on tiles: every kernel of this machine against the double reference over whole
// sequences.
#include <gtest/gtest.h>

#include "tests/model/kernels/kernels_here.h"
#include "tests/model/kernels/scan_problem.h"
#include "tests/model/kernels/sweep.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

std::string Named(const Kernels& kernels, int length, int dim, int state, int options) {
  return std::string(kernels.name) + " length " + std::to_string(length) + " width " +
         std::to_string(dim) + " states " + std::to_string(state) + " options " +
         std::to_string(options);
}

// S as a sum in fp32, token by token in scan order.
std::vector<float> SumsOf(const ScanProblem<float>& p) {
  std::vector<float> sums(static_cast<size_t>(p.dim), 0.0F);
  for (int step = 0; p.cumulative && step < p.length; ++step) {
    const int token = p.reverse ? p.length - 1 - step : step;
    for (int c = 0; c < p.dim; ++c) sums[c] += p.u[static_cast<ptrdiff_t>(token) * p.dim + c];
  }
  return sums;
}

void ExpectAgreement(const ScanProblem<float>& problem, int options, double tolerance) {
  const auto want = ScanAtOnce(Widened(problem));
  const auto sums = SumsOf(problem);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(Named(*kernels, problem.length, problem.dim, problem.state, options));
    size_t overwritten = 0;
    const auto got =
        ScanByTiles(kernels->scan_tile, problem, FullTiles(problem.length), &overwritten);
    ASSERT_LE(RelMax(got.y, want.y), tolerance);
    ASSERT_LE(RelMax(got.h, want.h), tolerance);
    ASSERT_EQ(got.earlier, sums);
    ASSERT_EQ(overwritten, 0U);
  }
}

void ExpectAgreement(int length, int dim, int state, double tolerance = 2e-6) {
  for (int options = 0; options < kScanOptions; ++options) {
    const auto problem = WithOptions(MadeScan<float>(length, dim, state), options);
    ASSERT_NO_FATAL_FAILURE(ExpectAgreement(problem, options, tolerance));
  }
}

class ScanSweep : public ::testing::TestWithParam<int> {};  // states

INSTANTIATE_TEST_SUITE_P(States, ScanSweep, ::testing::Values(8, 16),
                         ::testing::PrintToStringParamName());

// u in steps of 2^-9, of which fp32 holds any sum of these lengths. The rounding of S grows with
// the length and comes back in y and h, whoever adds it up: 2e-6 at 2000 tokens already.
ScanProblem<float> WithExactSums(ScanProblem<float> problem) {
  for (float& value : problem.u) value = std::round(value * 0x1p9F) * 0x1p-9F;
  return problem;
}

void ExpectInSweep(const SweepShape& shape, int state, int options) {
  const auto problem = WithOptions(MadeScan<float>(shape.length, shape.width, state), options);
  if (problem.cumulative) {
    ExpectAgreement(WithExactSums(problem), options, 2e-6);
  } else {
    ExpectAgreement(problem, options, 1e-6);
  }
}

// The options go round: neighbours, which share a length or nearly a width, have different ones.
void ExpectInSweep(const std::vector<SweepShape>& shapes, int state) {
  int options = 0;
  for (const SweepShape& shape : shapes) {
    ASSERT_NO_FATAL_FAILURE(ExpectInSweep(shape, state, options));
    options = (options + 5) % kScanOptions;
  }
}

TEST_P(ScanSweep, EachLength) { ExpectInSweep(EachLength(), GetParam()); }
TEST_P(ScanSweep, EachWidth) { ExpectInSweep(EachWidth(), GetParam()); }
TEST_P(ScanSweep, LongAndWide) { ExpectInSweep(LongAndWide(), GetParam()); }
TEST_P(ScanSweep, LongestAndWidest) {
  constexpr int kReverseAndCumulative = 9;
  ExpectInSweep(kLongestAndWidest, GetParam(), kReverseAndCumulative);
}

TEST(ScanTile, AgreesWithTheDoubleReferenceWithAnyOptions) {
  for (const int length : {1, 2, 3, 5, 7, 31, 63, 64, 65, 127, 128, 129, 197, 1023, 1569}) {
    if (length < 200) ExpectAgreement(length, 48, 16);
    ExpectAgreement(length, 16, 8);
  }
  ExpectAgreement(4099, 16, 8, 4e-6);
  ExpectAgreement(4099, 16, 16, 4e-6);  // S alone, in fp32, is off by 2e-6
}

TEST(ScanTile, AgreesWithTheDoubleReferenceAtAnyWidthAndState) {
  for (const int state : {4, 8, 12, 16, 20, 28, 36}) {
    ExpectAgreement(67, 16, state);
    ExpectAgreement(67, 192, state);
  }
}

// Tiles may be cut anywhere: what is carried is exact, and no bit depends on who shares a tile,
// though a dt that takes a decay far down sends its whole tile another way.
TEST(ScanTile, BitsDoNotDependOnTheCut) {
  constexpr int kLength = 150;
  const std::vector<Counts> cuts = {
      FullTiles(kLength), Counts(kLength, 1), {37, 64, 49}, {1, 64, 21, 64}};
  for (const int state : {8, 20}) {
    for (int options = 0; options < kScanOptions; ++options) {
      auto problem = WithOptions(MadeScan<float>(kLength, 48, state), options);
      problem.delta[10 * 48 + 5] = 100;
      problem.delta[75 * 48 + 20] = 1e30f;
      problem.delta[149 * 48 + 47] = 30;
      for (const Kernels* kernels : KernelsHere()) {
        SCOPED_TRACE(Named(*kernels, kLength, 48, state, options));
        const auto want = ScanByTiles(kernels->scan_tile, problem, cuts[0]);
        for (size_t i = 1; i < cuts.size(); ++i) {
          const auto got = ScanByTiles(kernels->scan_tile, problem, cuts[i]);
          ASSERT_EQ(got.y, want.y) << "cut " << i;
          ASSERT_EQ(got.h, want.h) << "cut " << i;
          ASSERT_EQ(got.earlier, want.earlier) << "cut " << i;
        }
      }
    }
  }
}

TEST(ScanTile, BitsOfAChannelDoNotDependOnItsNeighbours) {
  const auto problem = MadeScan<float>(70, 48, 16);
  auto other = problem;
  for (size_t i = 0; i < other.u.size(); ++i) {
    if (i % 48 == 21) continue;
    other.u[i] = -other.u[i];
    other.delta[i] = 50;
  }
  for (const Kernels* kernels : KernelsHere()) {
    const auto got = ScanByTiles(kernels->scan_tile, other, FullTiles(70));
    const auto want = ScanByTiles(kernels->scan_tile, problem, FullTiles(70));
    for (size_t i = 21; i < want.y.size(); i += 48) ASSERT_EQ(got.y[i], want.y[i]) << kernels->name;
  }
}

template <typename T>
std::vector<bool> NanIn(const std::vector<T>& values) {
  std::vector<bool> is_nan;
  for (const T value : values) is_nan.push_back(std::isnan(value));
  return is_nan;
}

template <typename T>
std::vector<T> WithoutNan(std::vector<T> values) {
  std::replace_if(
      values.begin(), values.end(), [](T value) { return std::isnan(value); }, T(0));
  return values;
}

// Exactly where the specification has one, beside a dt that takes decays far down too.
TEST(ScanTile, NeverHidesANan) {
  using Field = std::vector<float> ScanProblem<float>::*;
  using P = ScanProblem<float>;
  for (const Field field : {Field(&P::u), Field(&P::delta), Field(&P::b), Field(&P::c),
                            Field(&P::a2), Field(&P::d), Field(&P::bias)}) {
    for (int options = 0; options < kScanOptions; ++options) {
      for (const bool far_down : {false, true}) {
        auto problem = WithOptions(MadeScan<float>(70, 32, 8), options);
        (problem.*field)[(problem.*field).size() / 3] = std::numeric_limits<float>::quiet_NaN();
        // In the channel, and before the token, whose delta becomes a NaN.
        if (far_down) problem.delta[5 * 32 + problem.delta.size() / 3 % 32] = 200.0F;
        const auto want = ScanAtOnce(Widened(problem));
        for (const Kernels* kernels : KernelsHere()) {
          SCOPED_TRACE(Named(*kernels, 70, 32, 8, options));
          const auto got = ScanByTiles(kernels->scan_tile, problem, FullTiles(70));
          ASSERT_EQ(NanIn(got.y), NanIn(want.y));
          ASSERT_EQ(NanIn(got.h), NanIn(want.h));
          ASSERT_LE(RelMax(WithoutNan(got.y), WithoutNan(want.y)), 2e-6);
        }
      }
    }
  }
}

// A dt beyond everything wipes the state out and leaves no NaN.
TEST(ScanTile, HugeStepsForget) {
  for (const float delta : {60.0F, 1e10F, 3e38F}) {
    auto problem = MadeScan<float>(9, 16, 8);
    std::fill(problem.delta.begin() + 4 * 16, problem.delta.begin() + 5 * 16, delta);
    std::fill(problem.u.begin() + 4 * 16, problem.u.begin() + 5 * 16, 0.5F);  // dt u is finite
    std::fill(problem.b.begin() + 4 * 8, problem.b.begin() + 5 * 8, 0.0F);
    std::fill(problem.a2.begin(), problem.a2.end(), -3.0F);
    auto rest = problem;  // starts behind that step
    rest.length = 4;
    rest.u.erase(rest.u.begin(), rest.u.begin() + 5 * 16);
    rest.delta.erase(rest.delta.begin(), rest.delta.begin() + 5 * 16);
    rest.b.erase(rest.b.begin(), rest.b.begin() + 5 * 8);
    rest.c.erase(rest.c.begin(), rest.c.begin() + 5 * 8);
    for (const Kernels* kernels : KernelsHere()) {
      const auto got = ScanByTiles(kernels->scan_tile, problem, FullTiles(9));
      const auto want = ScanByTiles(kernels->scan_tile, rest, FullTiles(4));
      EXPECT_EQ(got.h, want.h) << kernels->name << " " << delta;
      EXPECT_EQ(Part(got.y, 5 * 16, 4 * 16), want.y) << kernels->name << " " << delta;
    }
  }
}

// Decays near 1 over a long sequence: a biased exponential would show in the state's level.
TEST(ScanTile, SlowDecaysStayRight) {
  auto problem = MadeScan<float>(4099, 16, 16);
  for (float& value : problem.a2) value = -1.44269504F;  // A = -1
  for (float& value : problem.delta) value = value * 0.1F - 6.9F;
  std::fill(problem.bias.begin(), problem.bias.end(), 0.0F);  // dt near 1e-3
  for (float& value : problem.u) value = std::abs(value);     // nothing averages out
  for (float& value : problem.b) value = std::abs(value);
  const auto want = ScanAtOnce(Widened(problem));
  double norm = 0;
  for (const double value : want.y) norm += value * value;
  for (const Kernels* kernels : KernelsHere()) {
    const auto got = ScanByTiles(kernels->scan_tile, problem, FullTiles(4099));
    double error = 0;
    for (size_t i = 0; i < want.y.size(); ++i) error += std::pow(got.y[i] - want.y[i], 2);
    EXPECT_LE(std::sqrt(error / norm), 1e-6) << kernels->name;
    EXPECT_LE(RelMax(got.h, want.h), 4e-6) << kernels->name;
  }
}

}  // namespace
}  // namespace scanline::testing
