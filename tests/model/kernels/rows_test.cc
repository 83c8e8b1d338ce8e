// The convolution over whole sequences (the specification), add + norm, and the sets of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/kernels/kernels.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

TEST(CausalConv, MatchesTheOfficialConvolutionBothWays) {
  const SafetensorsFile file = ReadReference("op_causal_conv1d");
  for (const std::string& name : Cases(file)) {
    const auto& shape = file.at(name + ".x").shape;
    const size_t dim = shape[1];
    const size_t length = shape[2];
    const auto weight = Floats(file.at(name + ".weight"));
    const auto bias =
        file.has(name + ".bias") ? Floats(file.at(name + ".bias")) : std::vector<float>();
    for (size_t batch = 0; batch < static_cast<size_t>(shape[0]); ++batch) {
      const size_t at = batch * dim * length;
      const auto x = Transposed(Floats(file.at(name + ".x")), at, dim, length);
      std::vector<float> out(dim * length);
      CausalConv<float> op{.length = static_cast<int>(length),
                           .dim = static_cast<int>(dim),
                           .width = static_cast<int>(weight.size() / dim),
                           .x = x.data(),
                           .x_stride = static_cast<ptrdiff_t>(dim),
                           .weight = weight.data(),
                           .bias = bias.empty() ? nullptr : bias.data(),
                           .out = out.data(),
                           .out_stride = static_cast<ptrdiff_t>(dim),
                           .silu = name.find("silu1") != std::string::npos};
      CausalConvReference(op);
      EXPECT_LE(RelMax(out, Transposed(Floats(file.at(name + ".out")), at, dim, length)), 2e-6)
          << name;
      op.reverse = true;
      CausalConvReference(op);
      EXPECT_LE(RelMax(out, Transposed(Floats(file.at(name + ".out_reversed")), at, dim, length)),
                2e-6)
          << name;
    }
  }
}

template <typename T>
std::vector<T> Wave(size_t count, double scale, double step) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(scale * std::sin(step * static_cast<double>(i + 1)));
  }
  return values;
}

TEST(AddNorm, MatchesTheOfficialNorms) {
  const SafetensorsFile file = ReadReference("op_add_norm");
  for (const Kernels* kernels : KernelsHere()) {
    for (const std::string& name : Cases(file)) {
      SCOPED_TRACE(name + " " + kernels->name);
      const StoredTensor& out = file.at(name + ".out");
      const auto optional = [&](const char* key) {
        return file.has(name + key) ? Floats(file.at(name + key)) : std::vector<float>();
      };
      const auto x = Floats(file.at(name + ".x"));
      const auto weight = Floats(file.at(name + ".weight"));
      const auto residual = optional(".residual"), bias = optional(".bias");
      std::vector<float> normed(x.size()), sum(x.size());
      kernels->add_norm({.rows = static_cast<int>(x.size() / weight.size()),
                         .dim = static_cast<int>(weight.size()),
                         .x = x.data(),
                         .residual = residual.empty() ? nullptr : residual.data(),
                         .weight = weight.data(),
                         .bias = bias.empty() ? nullptr : bias.data(),
                         .eps = 1e-5f,
                         .layer_norm = name.rfind("ln", 0) == 0,
                         .residual_out = sum.data(),
                         .out = normed.data()});
      EXPECT_LE(RelMax(normed, Floats(out)), out.dtype == "BF16" ? 1e-2 : 2e-6);
      EXPECT_LE(RelMax(sum, Floats(file.at(name + ".residual_out"))), 2e-6);
    }
  }
}

TEST(AddNorm, FastKernelsAgreeWithTheDoubleReferenceAtAnyWidth) {
  for (const Kernels* kernels : KernelsHere()) {
    for (int dim : {1, 5, 8, 13, 96, 192, 577}) {
      for (bool layer_norm : {false, true}) {
        constexpr int kRows = 3;
        const size_t count = static_cast<size_t>(kRows) * dim;
        const auto run = [&](auto zero, auto norm) {
          using T = decltype(zero);
          const auto x = Wave<T>(count, 2, 0.77), weight = Wave<T>(dim, 1, 1.9);
          const auto bias = Wave<T>(dim, 0.3, 0.4);
          std::vector<T> residual = Wave<T>(count, 5, 0.11), out(count);
          norm(AddNorm<T>{.rows = kRows,
                          .dim = dim,
                          .x = x.data(),
                          .residual = residual.data(),
                          .weight = weight.data(),
                          .bias = bias.data(),
                          .layer_norm = layer_norm,
                          .residual_out = residual.data(),
                          .out = out.data()});
          out.insert(out.end(), residual.begin(), residual.end());
          return out;
        };
        const auto got = run(0.0f, kernels->add_norm);
        const auto want = run(0.0, AddNormReference<double>);
        EXPECT_LE(RelMax(got, want), 2e-6) << kernels->name << " width " << dim;
      }
    }
  }
}

TEST(Kernels, AreNamedAndFound) {
  EXPECT_THAT(KernelNames(), ::testing::Contains("scalar"));
  for (const std::string& name : KernelNames()) EXPECT_EQ(FindKernels(name)->name, name);
  EXPECT_EQ(FindKernels("abacus"), nullptr);
  EXPECT_TRUE(BestKernels().runs_here());
}

}  // namespace
}  // namespace scanline::testing
