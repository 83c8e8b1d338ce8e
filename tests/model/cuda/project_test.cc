// Each stage is compared with the reference applied to what the kernel itself handed to it, so that
// rounding to bf16 between stages does not hide errors of the stage.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "model/kernels/ops.h"
#include "tests/model/cuda/device_memory.h"

namespace scanline::cuda::testing {
namespace {

constexpr Element kTypes[] = {Element::kFloat32, Element::kBfloat16};

struct Case {
  Element type = Element::kFloat32;
  int batch = 1;
  int length = 1;
  int inner = 32;
  int rank = 12;
  int state = 16;
  int directions = 2;
  bool wants_c = true;
};

class Problem {
 public:
  explicit Problem(const Case& given) : case_(given) {
    rows_ = static_cast<size_t>(given.batch) * given.length;
    const size_t inner = given.inner;
    x_ = std::make_unique<Activations>(given.type, Numbers(rows_ * 2 * inner, 1, -2, 2));
    for (int way = 0; way < given.directions; ++way) {
      const uint64_t seed = 10 * (way + 1);
      Way& made = ways_[way];
      made.conv_weight = std::make_unique<Device<float>>(Numbers(inner * 4, seed, -0.7F, 0.7F));
      made.conv_bias = std::make_unique<Device<float>>(Numbers(inner, seed + 1, -0.5F, 0.5F));
      made.dt_bias = std::make_unique<Device<float>>(Numbers(inner, seed + 2, -7, 1));
      made.x_proj = std::make_unique<Activations>(given.type, PaddedProjection(seed + 3));
      made.dt_proj = std::make_unique<Activations>(given.type, PaddedSteps(seed + 4));
      made.c = std::make_unique<Activations>(given.type, rows_ * inner);
      made.dt = std::make_unique<Activations>(given.type, rows_ * inner);
      made.bc = std::make_unique<Device<float>>(rows_ * 2 * given.state);
    }
  }

  Project op() {
    Project op{.type = case_.type,
               .batch = case_.batch,
               .length = case_.length,
               .inner = case_.inner,
               .rank = case_.rank,
               .state = case_.state,
               .directions = case_.directions,
               .x = x_->get(),
               .x_stride = ptrdiff_t{2} * case_.inner};
    for (int way = 0; way < case_.directions; ++way) {
      Way& made = ways_[way];
      (way == 0 ? op.forward : op.backward) = {.conv_weight = made.conv_weight->get(),
                                               .conv_bias = made.conv_bias->get(),
                                               .x_proj = made.x_proj->get(),
                                               .dt_proj = made.dt_proj->get(),
                                               .dt_bias = made.dt_bias->get(),
                                               .c = case_.wants_c ? made.c->get() : nullptr,
                                               .dt = made.dt->get(),
                                               .bc = made.bc->get()};
    }
    return op;
  }

  // Runs the kernel; what is wrong with the answer, or empty.
  std::string Run() {
    if (LaunchProject(op(), nullptr) != 0) return "refused";
    for (int way = 0; way < case_.directions; ++way) {
      const std::string wrong = Check(way);
      if (!wrong.empty()) return (way == 0 ? "forward " : "backward ") + wrong;
    }
    return "";
  }

  // dt and B, C of sequence `index`, both directions.
  std::vector<uint8_t> Bits(int index) {
    std::vector<uint8_t> bits;
    for (int way = 0; way < case_.directions; ++way) {
      const std::vector<uint8_t> dt = ways_[way].dt->bytes();
      const auto share = static_cast<ptrdiff_t>(dt.size()) / case_.batch;
      bits.insert(bits.end(), dt.begin() + index * share, dt.begin() + (index + 1) * share);
      const std::vector<float> bc = ways_[way].bc->values();
      const size_t floats = bc.size() / case_.batch;
      const auto* from = reinterpret_cast<const uint8_t*>(bc.data() + index * floats);
      bits.insert(bits.end(), from, from + floats * sizeof(float));
    }
    return bits;
  }

 private:
  struct Way {
    std::unique_ptr<Device<float>> conv_weight, conv_bias, dt_bias, bc;
    std::unique_ptr<Activations> x_proj, dt_proj, c, dt;
  };

  int padded() const { return PaddedRank(case_.rank); }

  std::vector<float> PaddedProjection(uint64_t seed) const {
    const size_t rows = ProjectionRows(case_.rank, case_.state);
    std::vector<float> weight = Numbers(rows * case_.inner, seed, -0.2F, 0.2F);
    std::fill(weight.begin() + static_cast<ptrdiff_t>(case_.rank) * case_.inner,
              weight.begin() + static_cast<ptrdiff_t>(padded()) * case_.inner, 0.0F);
    return weight;
  }

  std::vector<float> PaddedSteps(uint64_t seed) const {
    std::vector<float> weight =
        Numbers(static_cast<size_t>(case_.inner) * padded(), seed, -0.5F, 0.5F);
    for (size_t i = 0; i < weight.size(); ++i) {
      if (static_cast<int>(i % padded()) >= case_.rank) weight[i] = 0;
    }
    return weight;
  }

  std::vector<double> Convolved(int way) {
    const std::vector<double> x = x_->doubles();
    const std::vector<double> weight = Doubles(ways_[way].conv_weight->values());
    const std::vector<double> bias = Doubles(ways_[way].conv_bias->values());
    std::vector<double> out(rows_ * case_.inner);
    for (int sequence = 0; sequence < case_.batch; ++sequence) {
      const ptrdiff_t row = ptrdiff_t{sequence} * case_.length;
      CausalConvReference<double>({.length = case_.length,
                                   .dim = case_.inner,
                                   .x = x.data() + row * 2 * case_.inner,
                                   .x_stride = ptrdiff_t{2} * case_.inner,
                                   .weight = weight.data(),
                                   .bias = bias.data(),
                                   .out = out.data() + row * case_.inner,
                                   .out_stride = case_.inner,
                                   .reverse = way == 1});
    }
    return out;
  }

  // left [rows][inner] times right^T [columns][inner].
  static std::vector<double> Product(const std::vector<double>& left,
                                     const std::vector<double>& right, int inner) {
    const size_t rows = left.size() / inner;
    const size_t columns = right.size() / inner;
    std::vector<double> out(rows * columns);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        for (int k = 0; k < inner; ++k) {
          out[r * columns + c] += left[r * inner + k] * right[c * inner + k];
        }
      }
    }
    return out;
  }

  std::string Check(int way) {
    Way& made = ways_[way];
    const double rounding = 2 * Rounding(case_.type);
    std::string wrong = FirstDifference(made.c->values(), Convolved(way), rounding, 1e-6);
    if (!wrong.empty()) return "c " + wrong;
    const std::vector<double> c = made.c->doubles();
    const std::vector<double> sums = Product(c, made.x_proj->doubles(), case_.inner);
    const size_t width = ProjectionRows(case_.rank, case_.state);
    std::vector<double> rank;
    std::vector<double> bc;
    for (size_t i = 0; i < sums.size(); ++i) {
      (static_cast<int>(i % width) < padded() ? rank : bc).push_back(sums[i]);
    }
    wrong = FirstDifference(made.bc->values(), bc, 1e-6, SumError(bc));
    if (!wrong.empty()) return "B, C " + wrong;
    rank = Activations(case_.type, std::vector<float>(rank.begin(), rank.end())).doubles();
    std::vector<double> dt = Product(rank, made.dt_proj->doubles(), padded());
    const std::vector<float> bias = made.dt_bias->values();
    for (size_t i = 0; i < dt.size(); ++i)
      dt[i] = std::log1p(std::exp(dt[i] + bias[i % bias.size()]));
    // A sum that was at the edge may have been rounded the other way.
    const double edge = case_.type == Element::kFloat32 ? 2e-6 : 4e-3;
    wrong = FirstDifference(made.dt->values(), dt, rounding + edge, 1e-6);
    return wrong.empty() ? wrong : "dt " + wrong;
  }

  Case case_;
  size_t rows_ = 0;
  std::unique_ptr<Activations> x_;
  Way ways_[2];
};

std::string Name(const Case& given) {
  return "type " + std::to_string(static_cast<int>(given.type)) + " batch " +
         std::to_string(given.batch) + " length " + std::to_string(given.length) + " inner " +
         std::to_string(given.inner) + " rank " + std::to_string(given.rank) + " state " +
         std::to_string(given.state) + " directions " + std::to_string(given.directions);
}

void ExpectRight(const Case& given) {
  static uint64_t seed = 0;
  simt::SetOptions({.seed = ++seed});
  EXPECT_EQ(Problem(given).Run(), "") << Name(given);
}

TEST(Project, MatchesTheReferenceForEveryLength) {
  for (const Element type : kTypes) {
    for (const int length : {1, 2, 3, 4, 7, 8, 15, 63, 64, 65, 67, 131}) {
      ExpectRight({.type = type, .length = length});
    }
  }
}

TEST(Project, MatchesTheReferenceForEveryModelsSizes) {
  for (const Element type : kTypes) {
    for (const int state : {8, 16}) {
      for (const int rank : {1, 12, 16, 17, 24, 36, 48, 64}) {
        for (const int inner : {16, 48, 64, 80, 144}) {
          ExpectRight({.type = type, .length = 9, .inner = inner, .rank = rank, .state = state});
        }
      }
    }
  }
}

TEST(Project, MatchesTheReferenceInABatch) {
  for (const Element type : kTypes) {
    for (const int directions : {1, 2}) {
      ExpectRight({.type = type, .batch = 3, .length = 70, .inner = 48, .directions = directions});
    }
  }
}

TEST(Project, NeedNotWriteTheConvolution) {
  Problem with({.type = Element::kBfloat16, .length = 70, .inner = 48});
  Problem without({.type = Element::kBfloat16, .length = 70, .inner = 48, .wants_c = false});
  ASSERT_EQ(with.Run(), "");
  ASSERT_EQ(LaunchProject(without.op(), nullptr), 0);
  EXPECT_EQ(with.Bits(0), without.Bits(0));
}

TEST(Project, IsTheSameInAnyCompany) {
  Problem alone({.type = Element::kBfloat16, .length = 70, .inner = 48});
  Problem among({.type = Element::kBfloat16, .batch = 3, .length = 70, .inner = 48});
  ASSERT_EQ(alone.Run(), "");
  ASSERT_EQ(among.Run(), "");
  EXPECT_EQ(alone.Bits(0), among.Bits(0));
  EXPECT_NE(among.Bits(0), among.Bits(1));
}

TEST(Project, RefusesWhatItWasNotBuiltFor) {
  Problem problem({.length = 3});
  const auto refused = [&](auto change) {
    Project op = problem.op();
    change(op);
    return LaunchProject(op, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](Project& op) { op.rank = 65; }));
  EXPECT_TRUE(refused([](Project& op) { op.state = 4; }));
  EXPECT_TRUE(refused([](Project& op) { op.inner = 24; }));
  EXPECT_TRUE(refused([](Project& op) { op.x_stride = 36; }));
  EXPECT_TRUE(refused([](Project& op) { op.directions = 0; }));
  EXPECT_FALSE(refused([](Project& op) { op.length = 0; }));
}

TEST(Project, NeedsEachOfItsBarriers) {
  const Case given{.length = 64, .inner = 96, .rank = 36};  // more than one piece in fp32
  simt::SetOptions({.seed = 1});
  ASSERT_EQ(Problem(given).Run(), "");
  const std::set<std::string> sites = simt::SyncSites();
  ASSERT_EQ(sites.size(), 4U);  // two barriers, a warp barrier, a wait for copies
  for (const std::string& site : sites) {
    bool noticed = false;
    for (uint64_t seed = 1; seed <= 8 && !noticed; ++seed) {
      simt::SetOptions({.seed = seed, .ignore = site});
      try {
        noticed = !Problem(given).Run().empty();
      } catch (const std::runtime_error&) {
        noticed = true;
      }
    }
    EXPECT_TRUE(noticed) << site;
  }
  simt::SetOptions({});
}

TEST(ProjectDeathTest, DiesOfATokenTooMany) {
  Problem problem({.length = 32});
  Project op = problem.op();
  ++op.length;
  EXPECT_DEATH(LaunchProject(op, nullptr), "");
}

}  // namespace
}  // namespace scanline::cuda::testing
