// Convolution and gate on tiles: every kernel of this machine against the official code's vectors
// and the double reference over whole sequences.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/kernels/kernels_here.h"
#include "tests/model/kernels/scan_problem.h"
#include "tests/model/kernels/sweep.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

struct ConvProblem {
  int length = 0;
  int dim = 0;
  int width = 4;
  std::vector<float> x, weight, bias;  // [length][dim], [dim][width], [dim]
  bool reverse = false;
};

ConvProblem MadeConv(int length, int dim, int width, bool reverse) {
  Values values(static_cast<uint64_t>(length * 1000 + dim * 10 + width));
  const auto l = static_cast<size_t>(length), d = static_cast<size_t>(dim);
  return {.length = length,
          .dim = dim,
          .width = width,
          .x = values.Between<float>(-3, 3, l * d),
          .weight = values.Between<float>(-1, 1, d * static_cast<size_t>(width)),
          .bias = values.Between<float>(-1, 1, d),
          .reverse = reverse};
}

std::vector<double> ConvAtOnce(const ConvProblem& p) {
  const auto x = Widened(p.x), weight = Widened(p.weight), bias = Widened(p.bias);
  std::vector<double> out(x.size());
  CausalConvReference(CausalConv<double>{.length = p.length,
                                         .dim = p.dim,
                                         .width = p.width,
                                         .x = x.data(),
                                         .x_stride = p.dim,
                                         .weight = weight.data(),
                                         .bias = bias.data(),
                                         .out = out.data(),
                                         .out_stride = p.dim,
                                         .reverse = p.reverse});
  return out;
}

// Tokens behind the last tile's count are NaN where it reads and must stay -7 where it writes.
std::vector<float> ConvByTiles(const Kernels& kernels, const ConvProblem& p) {
  const Counts counts = FullTiles(p.length);
  const int channels = UpTo(p.dim, kBlock);
  auto x = ToTiles(p.x, p.dim, counts);
  auto bias = ToBlocks(p.bias, p.dim);
  Aligned<float> weight(static_cast<size_t>(channels * p.width));
  for (int c = 0; c < p.dim; ++c) {
    for (int k = 0; k < p.width; ++k) {
      weight[static_cast<size_t>((c / kBlock * p.width + k) * kBlock + c % kBlock)] =
          p.weight[static_cast<size_t>(c * p.width + k)];
    }
  }
  const size_t tile_size = static_cast<size_t>(kTileTokens * channels);
  Aligned<float> out(counts.size() * tile_size, -7.0F);
  for (size_t tile = 0; tile < counts.size(); ++tile) {
    const bool last = tile + 1 == counts.size();
    kernels.conv_tile({.count = counts[tile],
                       .channels = channels,
                       .width = p.width,
                       .x = x.data() + tile * tile_size,
                       .before = tile > 0 ? x.data() + (tile - 1) * tile_size : nullptr,
                       .after = last ? nullptr : x.data() + (tile + 1) * tile_size,
                       .after_count = last ? 0 : counts[tile + 1],
                       .weight = weight.data(),
                       .bias = bias.data(),
                       .out = out.data() + tile * tile_size,
                       .reverse = p.reverse});
  }
  const auto values = FromTiles(out, p.dim, counts);
  ForTokens(counts, channels, [&](size_t, size_t at) {
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) out[at + InBlock(c)] = -7;
  });
  EXPECT_EQ(Unlike(out, counts.size() * tile_size, -7.0F), 0U) << "wrote behind the tokens";
  return values;
}

TEST(ConvTile, MatchesTheOfficialConvolutionBothWays) {
  const SafetensorsFile file = ReadReference("op_causal_conv1d");
  int compared = 0;
  for (const std::string& name : Cases(file)) {
    if (name.find("silu1") == std::string::npos) continue;  // models always have it
    const auto& shape = file.at(name + ".x").shape;
    const size_t dim = shape[1], length = shape[2];
    for (size_t batch = 0; batch < static_cast<size_t>(shape[0]); ++batch) {
      const size_t at = batch * dim * length;
      const auto rows = [&](const char* key) {
        return Transposed(Floats(file.at(name + key)), at, dim, length);
      };
      ConvProblem problem{.length = static_cast<int>(length),
                          .dim = static_cast<int>(dim),
                          .x = rows(".x"),
                          .weight = Floats(file.at(name + ".weight")),
                          .bias = std::vector<float>(dim, 0)};
      problem.width = static_cast<int>(problem.weight.size() / dim);
      if (file.has(name + ".bias")) problem.bias = Floats(file.at(name + ".bias"));
      for (const Kernels* kernels : KernelsHere()) {
        SCOPED_TRACE(name + " " + kernels->name);
        problem.reverse = false;
        EXPECT_LE(RelMax(ConvByTiles(*kernels, problem), rows(".out")), 2e-6);
        problem.reverse = true;
        EXPECT_LE(RelMax(ConvByTiles(*kernels, problem), rows(".out_reversed")), 2e-6);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

void ExpectAgreement(int length, int dim, int width, bool reverse) {
  const auto problem = MadeConv(length, dim, width, reverse);
  const auto want = ConvAtOnce(problem);
  for (const Kernels* kernels : KernelsHere()) {
    ASSERT_LE(RelMax(ConvByTiles(*kernels, problem), want), 1e-6)
        << kernels->name << " length " << length << " dim " << dim << " width " << width << " "
        << reverse;
  }
}

TEST(ConvTile, AgreesWithTheDoubleReferenceAtAnyNumberOfTaps) {
  for (const int length : {1, 2, 3, 4, 5, 7, 61, 62, 63, 64, 65, 66, 67, 127, 129, 197, 1569}) {
    for (const int width : {1, 2, 3, 4, 5, 8}) {
      for (const bool reverse : {false, true}) {
        ASSERT_NO_FATAL_FAILURE(ExpectAgreement(length, length < 200 ? 48 : 16, width, reverse));
      }
    }
  }
}

class ConvSweep : public ::testing::TestWithParam<bool> {};  // reverse

INSTANTIATE_TEST_SUITE_P(Reverse, ConvSweep, ::testing::Bool(),
                         ::testing::PrintToStringParamName());

void ExpectInSweep(const std::vector<SweepShape>& shapes, bool reverse) {
  for (const auto& [length, dim] : shapes) {
    ASSERT_NO_FATAL_FAILURE(ExpectAgreement(length, dim, 4, reverse));
  }
}

TEST_P(ConvSweep, EachLength) { ExpectInSweep(EachLength(), GetParam()); }
TEST_P(ConvSweep, EachWidth) { ExpectInSweep(EachWidth(), GetParam()); }
TEST_P(ConvSweep, LongAndWide) {
  ExpectInSweep(LongAndWide(), GetParam());
  ExpectInSweep({kLongestAndWidest}, GetParam());
}

// A NaN reaches the tokens whose taps see it, and no other.
TEST(ConvTile, NeverHidesOrSpreadsANan) {
  for (const bool reverse : {false, true}) {
    for (const size_t token : {0U, 30U, 62U, 63U, 64U, 69U}) {
      auto problem = MadeConv(70, 16, 4, reverse);
      problem.x[token * 16 + 3] = std::nanf("");
      const auto want = ConvAtOnce(problem);
      for (const Kernels* kernels : KernelsHere()) {
        const auto got = ConvByTiles(*kernels, problem);
        for (size_t i = 0; i < want.size(); ++i) {
          ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << kernels->name << " " << i;
        }
      }
    }
  }
}

// One tile of `length` tokens, with and without z, in a tile of its own and in place.
void ExpectGated(const Kernels& kernels, int length, int dim, bool gate) {
  const Counts counts = {length};
  const size_t tile_size = size_t{kTileTokens} * static_cast<size_t>(dim);
  Values values(static_cast<uint64_t>(length * 2000 + dim));
  const size_t size = static_cast<size_t>(length) * static_cast<size_t>(dim);
  const auto f = values.Between<float>(-3, 3, size), b = values.Between<float>(-3, 3, size);
  auto z = values.Between<float>(-9, 9, size);
  z[size / 2] = std::nanf("");
  auto forward = ToTiles(f, dim, counts), backward = ToTiles(b, dim, counts);
  auto z_tile = ToTiles(z, dim, counts);
  Aligned<float> out(tile_size, -7.0F);
  GateTile<float> op{.count = length,
                     .channels = dim,
                     .forward = forward.data(),
                     .backward = backward.data(),
                     .z = gate ? z_tile.data() : nullptr,
                     .out = out.data()};
  kernels.gate_tile(op);
  const auto got = FromTiles(out, dim, counts);
  for (size_t i = 0; i < size; ++i) {
    const double silu = z[i] / (1 + std::exp(-static_cast<double>(z[i])));
    const double want = (static_cast<double>(f[i]) + b[i]) * (gate ? silu : 1);
    if (gate && std::isnan(z[i])) {
      ASSERT_TRUE(std::isnan(got[i]));
    } else {
      ASSERT_NEAR(got[i], want, 4e-7 * std::max(std::abs(want), 1.0));
    }
  }
  ForTokens(counts, dim, [&](size_t, size_t at) {
    for (size_t c = 0; c < static_cast<size_t>(dim); ++c) out[at + InBlock(c)] = -7;
  });
  ASSERT_EQ(Unlike(out, tile_size, -7.0F), 0U);
  op.out = z_tile.data();  // in place
  kernels.gate_tile(op);
  const auto in_place = FromTiles(z_tile, dim, counts);
  ASSERT_EQ(std::memcmp(in_place.data(), got.data(), size * sizeof(float)), 0);
}

// Every length of a tile and every width up to 1152.
TEST(GateTile, AgreesWithDoubleAndWritesOnlyTokens) {
  for (int turn = 0; turn < 2 * kMostBlocks; ++turn) {
    const int length = 1 + turn % kTileTokens, dim = kBlock * (1 + turn % kMostBlocks);
    for (const bool gate : {false, true}) {
      for (const Kernels* kernels : KernelsHere()) {
        SCOPED_TRACE(std::string(kernels->name) + " length " + std::to_string(length) + " width " +
                     std::to_string(dim));
        ASSERT_NO_FATAL_FAILURE(ExpectGated(*kernels, length, dim, gate));
      }
    }
  }
}

}  // namespace
}  // namespace scanline::testing
