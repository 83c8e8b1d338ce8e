#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/kernels/kernels.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

// A scan over one sequence of the vectors, token-major, in float or double.
template <typename T>
struct Problem {
  int length = 0;
  int dim = 0;
  int state = 0;
  int groups = 1;
  std::vector<T> u, delta, a, b, c, d, bias, z;
  bool softplus = true;

  SelectiveScan<T> Op() const {
    SelectiveScan<T> op;
    op.length = length;
    op.dim = dim;
    op.state = state;
    op.groups = groups;
    op.u = u.data();
    op.delta = delta.data();
    op.a = a.data();
    op.b = b.data();
    op.c = c.data();
    op.u_stride = op.delta_stride = op.z_stride = op.y_stride = dim;
    op.bc_stride = static_cast<ptrdiff_t>(groups) * state;
    op.d = d.empty() ? nullptr : d.data();
    op.delta_bias = bias.empty() ? nullptr : bias.data();
    op.z = z.empty() ? nullptr : z.data();
    op.softplus = softplus;
    return op;
  }
};

std::vector<float> Optional(const SafetensorsFile& file, const std::string& name) {
  return file.has(name) ? Floats(file.at(name)) : std::vector<float>();
}

// Sequence `batch` of a case. The files hold [batch, dim, length] and [batch, groups, state,
// length].
Problem<float> ReadProblem(const SafetensorsFile& file, const std::string& name, size_t batch) {
  const auto& shape = file.at(name + ".u").shape;
  const size_t dim = shape[1];
  const size_t length = shape[2];
  Problem<float> p;
  p.dim = static_cast<int>(dim);
  p.length = static_cast<int>(length);
  p.state = static_cast<int>(file.at(name + ".A").shape[1]);
  const auto& b_shape = file.at(name + ".B").shape;
  p.groups = b_shape.size() == 4 ? static_cast<int>(b_shape[1]) : 1;
  const auto rows = [&](const char* key, size_t width) {
    return Transposed(Floats(file.at(name + key)), batch * width * length, width, length);
  };
  p.u = rows(".u", dim);
  p.delta = rows(".delta", dim);
  p.b = rows(".B", static_cast<size_t>(p.groups) * p.state);
  p.c = rows(".C", static_cast<size_t>(p.groups) * p.state);
  if (file.has(name + ".z")) p.z = rows(".z", dim);
  p.a = Floats(file.at(name + ".A"));
  p.d = Optional(file, name + ".D");
  p.bias = Optional(file, name + ".delta_bias");
  if (file.has(name + ".flags")) p.softplus = file.at(name + ".flags").values<int64_t>()[0] != 0;
  return p;
}

struct Output {
  std::vector<float> y;
  std::vector<float> last_state;
};

Output Scan(const Kernels& kernels, SelectiveScan<float> op) {
  Output out{std::vector<float>(static_cast<size_t>(op.length) * op.dim),
             std::vector<float>(static_cast<size_t>(op.dim) * op.state)};
  std::vector<float> scratch(ScanScratchFloats(op.dim, op.state));
  op.y = out.y.data();
  op.last_state = out.last_state.data();
  (kernels.takes_scan(op) ? kernels : *FindKernels("scalar")).selective_scan(op, scratch.data());
  return out;
}

TEST(SelectiveScan, MatchesTheOfficialScan) {
  const SafetensorsFile file = ReadReference("op_selective_scan");
  for (const Kernels* kernels : KernelsHere()) {
    for (const std::string& name : Cases(file)) {
      SCOPED_TRACE(name + " " + kernels->name);
      const StoredTensor& out = file.at(name + ".out");
      const double tolerance = out.dtype == "BF16" ? 1e-2 : 5e-6;
      const auto batches = static_cast<size_t>(out.shape[0]);
      for (size_t batch = 0; batch < batches; ++batch) {
        const Problem<float> p = ReadProblem(file, name, batch);
        const Output got = Scan(*kernels, p.Op());
        const size_t count = static_cast<size_t>(p.dim) * p.length;
        EXPECT_LE(RelMax(got.y, Transposed(Floats(out), batch * count, p.dim, p.length)),
                  tolerance);
        const size_t cells = static_cast<size_t>(p.dim) * p.state;
        EXPECT_LE(RelMax(got.last_state,
                         Part(Floats(file.at(name + ".last_state")), batch * cells, cells)),
                  5e-6);
      }
    }
  }
}

TEST(SelectiveScan, MatchesTheProVariants) {
  const SafetensorsFile file = ReadReference("op_pro_scan");
  int outputs = 0;
  for (const Kernels* kernels : KernelsHere()) {
    for (const auto& [full_name, tensor] : file.tensors) {
      const size_t dot = full_name.find(".out_");
      if (dot == std::string::npos) continue;
      SCOPED_TRACE(full_name + " " + kernels->name);
      const std::string variant = full_name.substr(dot);
      const auto says = [&](const char* word) { return variant.find(word) != std::string::npos; };
      for (size_t batch = 0; batch < static_cast<size_t>(tensor.shape[0]); ++batch) {
        const Problem<float> p = ReadProblem(file, full_name.substr(0, dot), batch);
        SelectiveScan<float> op = p.Op();
        op.first_token_init = says("first");
        op.cumulative = says("cumulative");
        op.mask = says("masked");
        if (says("noDz")) op.d = op.z = nullptr;
        const size_t count = static_cast<size_t>(p.dim) * p.length;
        EXPECT_LE(RelMax(Scan(*kernels, op).y,
                         Transposed(Floats(tensor), batch * count, p.dim, p.length)),
                  5e-6);
        ++outputs;
      }
    }
  }
  EXPECT_GT(outputs, 0);
}

// Values of the sizes that models have, by a small generator, so that no two are alike.
template <typename T>
Problem<T> MadeProblem(int length, int dim, int state) {
  uint64_t seed = 0x9e3779b97f4a7c15u * (length * 1000 + dim + state);
  const auto fill = [&](size_t count, double low, double high) {
    std::vector<T> values(count);
    for (T& value : values) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<float>(low + (high - low) * static_cast<double>(seed >> 40) * 0x1p-24);
    }
    return values;
  };
  const auto n = static_cast<size_t>(length);
  Problem<T> p;
  p.length = length;
  p.dim = dim;
  p.state = state;
  p.u = fill(n * dim, -2, 2);
  p.delta = fill(n * dim, -3, 3);
  p.a = fill(static_cast<size_t>(dim) * state, -16, -0.5);
  p.b = fill(n * state, -1, 1);
  p.c = fill(n * state, -1, 1);
  p.d = fill(dim, 0.5, 1.5);
  p.bias = fill(dim, -6, 0);
  p.z = fill(n * dim, -4, 4);
  return p;
}

template <typename T>
SelectiveScan<T> WithOptions(SelectiveScan<T> op, int options) {
  op.reverse = options & 1;
  op.first_token_init = options & 2;
  op.mask = options & 4;
  op.cumulative = options & 8;
  op.accumulate = options & 16;
  if (options & 32) op.z = nullptr;
  return op;
}

class FastScan : public ::testing::TestWithParam<int> {};

TEST_P(FastScan, AgreesWithTheDoubleReferenceUnderEveryOption) {
  const int length = GetParam();
  for (const Kernels* kernels : KernelsHere()) {
    for (const auto& [dim, state] : {std::pair(48, 16), std::pair(32, 8)}) {
      const auto single = MadeProblem<float>(length, dim, state);
      const auto wide = MadeProblem<double>(length, dim, state);
      std::vector<float> scratch(ScanScratchFloats(dim, state));
      for (int options = 0; options < 64; ++options) {
        SCOPED_TRACE(std::string(kernels->name) + " options " + std::to_string(options));
        // The old content of y is u: what `accumulate` adds.
        std::vector<float> y = single.u;
        std::vector<double> want = wide.u;
        SelectiveScan<float> op = WithOptions(single.Op(), options);
        SelectiveScan<double> reference = WithOptions(wide.Op(), options);
        op.y = y.data();
        reference.y = want.data();
        ASSERT_TRUE(kernels->takes_scan(op));
        kernels->selective_scan(op, scratch.data());
        SelectiveScanReference(reference);
        ASSERT_LE(RelMax(y, want), 2e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, FastScan,
                         ::testing::Values(1, 2, 3, 7, 63, 64, 65, 127, 200, 1569));

TEST(SelectiveScan, HonoursStrides) {
  const auto p = MadeProblem<float>(65, 16, 8);
  for (const Kernels* kernels : KernelsHere()) {
    const Output want = Scan(*kernels, p.Op());
    constexpr int kStride = 37;
    const auto spread = [&](const std::vector<float>& from, int width) {
      std::vector<float> to(static_cast<size_t>(p.length) * kStride, NAN);
      for (int t = 0; t < p.length; ++t) {
        std::copy_n(from.begin() + t * width, width, to.begin() + t * kStride);
      }
      return to;
    };
    const auto u = spread(p.u, p.dim), delta = spread(p.delta, p.dim), z = spread(p.z, p.dim);
    const auto b = spread(p.b, p.state), c = spread(p.c, p.state);
    std::vector<float> y(u.size(), -1.0f);
    std::vector<float> scratch(ScanScratchFloats(p.dim, p.state));
    SelectiveScan<float> op = p.Op();
    op.u = u.data();
    op.delta = delta.data();
    op.z = z.data();
    op.b = b.data();
    op.c = c.data();
    op.y = y.data();
    op.u_stride = op.delta_stride = op.z_stride = op.bc_stride = op.y_stride = kStride;
    kernels->selective_scan(op, scratch.data());
    for (int t = 0; t < p.length; ++t) {
      EXPECT_EQ(Part(y, t * kStride, p.dim), Part(want.y, t * p.dim, p.dim)) << kernels->name;
      EXPECT_EQ(y[t * kStride + p.dim], -1.0f) << kernels->name << " wrote past its row";
    }
  }
}

// One token, one state: y = exp(dt A) u with B = 0, so the kernel's own exponential shows.
float DecayOf(const Kernels& kernels, float dt, float a) {
  Problem<float> p{.length = 1, .dim = 16, .state = 8};
  p.u.assign(16, 1.0f);
  p.delta.assign(16, dt);
  p.a.assign(16 * 8, a);
  p.b.assign(8, 0.0f);
  p.c = {1, 0, 0, 0, 0, 0, 0, 0};
  SelectiveScan<float> op = p.Op();
  op.first_token_init = true;
  return Scan(kernels, op).y[0];
}

TEST(SelectiveScan, ExponentialErrorIsBounded) {
  constexpr float kDt = 32.0f;  // softplus(32) is 32 in fp32
  for (const Kernels* kernels : KernelsHere()) {
    EXPECT_EQ(DecayOf(*kernels, kDt, 0.0f),
              1.0f);  // A bias here would be compounded by each token.
    for (int i = 1; i <= 2000; ++i) {
      const float a = -2.5f * static_cast<float>(i) / 2000.0f;
      const double x = static_cast<double>(kDt) * a;
      const double error = std::abs(DecayOf(*kernels, kDt, a) / std::exp(x) - 1);
      // The argument itself is rounded to 2^-24 twice.
      ASSERT_LE(error, 1.3e-7 + 1.2e-7 * std::abs(x)) << kernels->name << " x " << x;
    }
    EXPECT_LE(DecayOf(*kernels, kDt, -1000.0f), 1e-37f);
  }
}

TEST(SelectiveScan, SoftplusAndGateKeepRelativePrecision) {
  for (const Kernels* kernels : KernelsHere()) {
    for (float x = -80.0f; x <= 40.0f; x += 0.0371f) {
      Problem<float> p{.length = 1, .dim = 16, .state = 8};
      p.u.assign(16, 1.0f);
      p.delta.assign(16, x);
      p.a.assign(16 * 8, 0.0f);
      p.b.assign(8, 1.0f);
      p.c = {1, 0, 0, 0, 0, 0, 0, 0};
      const double softplus = x > 20 ? x : std::log1p(std::exp(static_cast<double>(x)));
      ASSERT_LE(std::abs(Scan(*kernels, p.Op()).y[0] / softplus - 1), 4e-7)
          << kernels->name << " x " << x;

      p.b.assign(8, 0.0f);
      p.d.assign(16, 1.0f);
      p.z.assign(16, x);
      const double silu = x / (1 + std::exp(-static_cast<double>(x)));
      ASSERT_LE(std::abs(Scan(*kernels, p.Op()).y[0] - silu), 4e-7 * std::abs(silu) + 1e-40)
          << kernels->name << " z " << x;
    }
  }
}

TEST(SelectiveScan, NeverHidesANan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Kernels* kernels : KernelsHere()) {
    for (auto field : {&Problem<float>::u, &Problem<float>::delta, &Problem<float>::b,
                       &Problem<float>::c, &Problem<float>::a, &Problem<float>::z}) {
      auto p = MadeProblem<float>(20, 16, 8);
      (p.*field)[0] = kNan;
      const Output out = Scan(*kernels, p.Op());
      EXPECT_TRUE(std::any_of(out.y.begin(), out.y.end(), [](float v) { return std::isnan(v); }))
          << kernels->name;
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
