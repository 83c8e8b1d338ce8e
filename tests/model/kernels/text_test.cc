// Packed linear layers and attention.
#include <gtest/gtest.h>

#include <cmath>

#include "model/kernels/kernels.h"
#include "model/weights.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

struct LinearProblem {
  int rows, inner, columns;
  std::vector<float> x, weight, bias, packed;

  LinearProblem(int rows_in, int inner_in, int columns_in)
      : rows(rows_in),
        inner(inner_in),
        columns(columns_in),
        x(Generate("input", {rows, inner}, 1)),
        weight(Generate("w.weight", {columns, inner}, 2)),
        bias(Generate("b.bias", {columns}, 3)),
        packed(static_cast<size_t>(PanelCount(columns)) * inner * kPanel) {
    std::vector<const float*> each;
    for (int c = 0; c < columns; ++c)
      each.push_back(weight.data() + static_cast<ptrdiff_t>(c) * inner);
    PackLinear(each.data(), columns, inner, packed.data());
  }

  std::vector<float> Run(const Kernels& kernels, bool with_bias, bool gelu) const {
    std::vector<float> out(static_cast<size_t>(rows) * columns);
    kernels.packed_linear({.rows = rows,
                           .inner = inner,
                           .columns = columns,
                           .x = x.data(),
                           .x_stride = inner,
                           .weight = packed.data(),
                           .bias = with_bias ? bias.data() : nullptr,
                           .out = out.data(),
                           .out_stride = columns,
                           .gelu = gelu,
                           .panel_end = PanelCount(columns)});
    return out;
  }

  std::vector<double> InDouble(bool with_bias, bool gelu) const {
    std::vector<double> out;
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        double sum = with_bias ? bias[c] : 0;
        for (int k = 0; k < inner; ++k) sum += double{x[r * inner + k]} * weight[c * inner + k];
        out.push_back(gelu ? 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0))) : sum);
      }
    }
    return out;
  }
};

// Around every edge: rows of a tile, columns of a panel, a block of `inner`.
TEST(PackedLinear, EveryKernelMatchesDoubleAndHasTheScalarOnesBits) {
  for (const int rows : {1, 2, 5, 6, 7, 12, 13, 25, 31}) {
    for (const auto& [inner, columns] : {std::pair{1, 1}, {8, 32}, {40, 2}, {65, 97}, {769, 64}}) {
      const LinearProblem problem(rows, inner, columns);
      for (const bool bias : {false, true}) {
        const auto want = problem.InDouble(bias, false);
        const auto scalar = problem.Run(*FindKernels("scalar"), bias, false);
        for (const Kernels* kernels : KernelsHere()) {
          SCOPED_TRACE(::testing::Message() << kernels->name << " " << rows << " " << inner << " "
                                            << columns << " " << bias);
          const auto got = problem.Run(*kernels, bias, false);
          EXPECT_LE(RelMax(got, want), 2e-6);
          EXPECT_EQ(got, scalar);
          EXPECT_LE(MaxDifference(problem.Run(*kernels, bias, true), problem.InDouble(bias, true)),
                    4e-6);
        }
      }
    }
  }
}

TEST(PackedLinear, GeluIsRightFarFromZeroToo) {
  for (const Kernels* kernels : KernelsHere()) {
    for (double x = -12; x <= 12; x += 0.01) {
      const auto value = static_cast<float>(x);
      std::vector<float> weight(kPanel);
      PackLinear(std::vector<const float*>{&value}.data(), 1, 1, weight.data());
      const float one = 1;
      float out = 0;
      kernels->packed_linear({.rows = 1,
                              .inner = 1,
                              .columns = 1,
                              .x = &one,
                              .x_stride = 1,
                              .weight = weight.data(),
                              .out = &out,
                              .out_stride = 1,
                              .gelu = true,
                              .panel_end = 1});
      const double want = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
      EXPECT_NEAR(out, want, 5e-7 * std::max(1.0, std::abs(want))) << kernels->name << " " << x;
    }
  }
}

TEST(Attention, EveryKernelMatchesDouble) {
  for (const int dim : {5, 8, 24, 64}) {
    for (const auto& [queries, keys] : {std::pair{1, 1}, {3, 7}, {4, 8}, {9, 17}, {13, 300}}) {
      const auto q = Generate("q.input", {queries, dim}, 1);
      const auto k = Generate("k.input", {keys, 2 * dim}, 2);  // [key | value], so strides count
      std::vector<double> q_double(q.begin(), q.end());
      std::vector<double> k_double(k.begin(), k.end());
      std::vector<double> want(q.size());
      AttentionReference(Attention<double>{.queries = queries,
                                           .keys = keys,
                                           .dim = dim,
                                           .q = q_double.data(),
                                           .q_stride = dim,
                                           .k = k_double.data(),
                                           .k_stride = 2 * dim,
                                           .v = k_double.data() + dim,
                                           .v_stride = 2 * dim,
                                           .scale = 0.7,
                                           .out = want.data(),
                                           .out_stride = dim});
      for (const Kernels* kernels : KernelsHere()) {
        std::vector<float> out(q.size());
        const Attention<float> op{.queries = queries,
                                  .keys = keys,
                                  .dim = dim,
                                  .q = q.data(),
                                  .q_stride = dim,
                                  .k = k.data(),
                                  .k_stride = 2 * dim,
                                  .v = k.data() + dim,
                                  .v_stride = 2 * dim,
                                  .scale = 0.7f,
                                  .out = out.data(),
                                  .out_stride = dim};
        if (!kernels->takes_attention(op)) continue;
        const AlignedFloats scratch = AllocateFloats(AttentionScratchFloats(keys, dim));
        kernels->attention(op, scratch.get());
        EXPECT_LE(RelMax(out, want), 3e-6) << kernels->name << " " << dim << " " << keys;
      }
    }
  }
}

}  // namespace
}  // namespace scanline::testing
