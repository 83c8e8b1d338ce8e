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

struct NormShape {
  int rows, dim;
};

// Every dim around the lanes, every multiple of 16 up to 1152 (and what is beside some), odd rows.
std::vector<NormShape> NormShapes() {
  std::vector<NormShape> shapes;
  for (int dim = 1; dim <= 100; ++dim) shapes.push_back({3, dim});
  for (int dim = 16; dim <= 1152; dim += 16) shapes.push_back({1 + dim / 16 % 32 * 2, dim});
  for (const int dim : {191, 193, 383, 385, 577, 769, 1151}) shapes.push_back({5, dim});
  for (const int dim : {13, 16, 48, 192}) shapes.push_back({4099, dim});
  return shapes;
}

template <typename T>
struct NormInputs {
  explicit NormInputs(const NormShape& shape)
      : x(Wave<T>(static_cast<size_t>(shape.rows) * shape.dim, 2, 0.77)),
        residual(Wave<T>(x.size(), 5, 0.11)),
        weight(Wave<T>(shape.dim, 1, 1.9)),
        bias(Wave<T>(shape.dim, 0.3, 0.4)) {}
  std::vector<T> x, residual, weight, bias;
};

template <typename T>
struct NormOutputs {
  std::vector<T> sum, normed;
};

// With -7 behind the outputs, which has to stay. The options' bits: LayerNorm, residual, bias.
template <typename T>
NormOutputs<T> Normed(void (*norm)(const AddNorm<T>&), const NormInputs<T>& in, int options) {
  const size_t count = in.x.size(), dim = in.weight.size();
  NormOutputs<T> out = {in.residual, std::vector<T>(count)};
  out.sum.resize(count + 16, T(-7));
  out.normed.resize(count + 16, T(-7));
  norm({.rows = static_cast<int>(count / dim),
        .dim = static_cast<int>(dim),
        .x = in.x.data(),
        .residual = options & 2 ? out.sum.data() : nullptr,  // in place, as models have it
        .weight = in.weight.data(),
        .bias = options & 4 ? in.bias.data() : nullptr,
        .layer_norm = (options & 1) != 0,
        .residual_out = out.sum.data(),
        .out = out.normed.data()});
  return out;
}

TEST(AddNorm, FastKernelsAgreeWithTheDoubleReferenceAtAnyWidth) {
  for (const NormShape& shape : NormShapes()) {
    const NormInputs<float> in(shape);
    const NormInputs<double> in_double(shape);
    for (int options = 0; options < 8; ++options) {
      const auto want = Normed<double>(AddNormReference<double>, in_double, options);
      for (const Kernels* kernels : KernelsHere()) {
        SCOPED_TRACE(::testing::Message() << kernels->name << " rows " << shape.rows << " width "
                                          << shape.dim << " options " << options);
        const auto got = Normed<float>(kernels->add_norm, in, options);
        ASSERT_LE(RelMax(got.sum, want.sum), 2e-6);
        ASSERT_LE(RelMax(got.normed, want.normed), 2e-6);
        for (size_t i = in.x.size(); i < got.sum.size(); ++i) {
          ASSERT_EQ(got.sum[i], -7);
          ASSERT_EQ(got.normed[i], -7);
        }
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
