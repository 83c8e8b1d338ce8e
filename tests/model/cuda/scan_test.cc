#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/model/cuda/scan_problem.h"

namespace scanline::cuda::testing {
namespace {

constexpr Element kTypes[] = {Element::kFloat32, Element::kBfloat16};

std::string Name(const ScanCase& given) {
  return "type " + std::to_string(static_cast<int>(given.type)) + " batch " +
         std::to_string(given.batch) + " length " + std::to_string(given.length) + " inner " +
         std::to_string(given.inner) + " state " + std::to_string(given.state) + " lanes " +
         std::to_string(given.plan.lanes) + " chunks " + std::to_string(given.plan.chunks);
}

// Each in an order of its own.
void ExpectRight(const ScanCase& given) {
  static uint64_t seed = 0;
  simt::SetOptions({.seed = ++seed});
  EXPECT_EQ(ScanProblem(given).Run(), "") << Name(given);
}

TEST(Scan, MatchesTheReferenceForEveryPlanAndLength) {
  for (const Element type : kTypes) {
    for (const int state : {8, 16}) {
      for (const int lanes : {1, 2, 4}) {
        for (const int length : {1, 2, 3, 5, 15, 16, 17, 31, 33, 64, 67, 129, 301}) {
          ExpectRight({.type = type,
                       .length = length,
                       .inner = 48,
                       .state = state,
                       .plan = {.lanes = lanes},
                       .seed = static_cast<uint64_t>(length)});
        }
      }
    }
  }
}

TEST(Scan, MatchesTheReferenceInChunks) {
  for (const Element type : kTypes) {
    for (const int lanes : {1, 4}) {
      for (const int chunks : {2, 3, 8}) {
        for (const int length : {1, 31, 97, 257}) {  // Some leave the last chunks empty.
          ExpectRight({.type = type,
                       .batch = 2,
                       .length = length,
                       .inner = 48,
                       .plan = {.lanes = lanes, .chunks = chunks},
                       .first_token_init = length % 4 == 1});
        }
      }
    }
  }
}

TEST(Scan, MatchesTheReferenceForEveryWidth) {
  for (const Element type : kTypes) {
    for (const int lanes : {1, 2, 4}) {
      for (const int inner : {16, 80, 144, 272}) {  // Less and more than the channels of a block.
        ExpectRight(
            {.type = type, .batch = 2, .length = 37, .inner = inner, .plan = {.lanes = lanes}});
      }
    }
  }
}

TEST(Scan, MatchesTheReferenceForEveryVariant) {
  for (const Element type : kTypes) {
    for (int bits = 0; bits < 32; ++bits) {
      for (const int lanes : {1, 2, 4}) {
        ExpectRight({.type = type,
                     .length = 45,
                     .inner = 32,
                     .state = bits % 2 == 0 ? 16 : 8,
                     .plan = {.lanes = lanes, .chunks = (bits & 4) == 0 && lanes == 2 ? 2 : 1},
                     .first_token_init = (bits & 1) != 0,
                     .mask_backward = (bits & 2) != 0,
                     .cumulative = (bits & 4) != 0,
                     .raw = (bits & 8) != 0,
                     .shared = (bits & 16) != 0});
      }
    }
  }
}

TEST(Scan, IsTheSameInAnyCompany) {
  for (const ScanPlan plan : {ScanPlan{1, 1}, ScanPlan{4, 1}, ScanPlan{2, 4}}) {
    // Sequence 0 of the larger batch has the numbers of the smaller one.
    ScanProblem alone({.type = Element::kBfloat16, .length = 131, .inner = 48, .plan = plan});
    ScanProblem among(
        {.type = Element::kBfloat16, .batch = 5, .length = 131, .inner = 48, .plan = plan});
    simt::SetOptions({.seed = 3});
    ASSERT_EQ(alone.Run(), "");
    simt::SetOptions({.seed = 4});
    ASSERT_EQ(among.Run(), "");
    EXPECT_EQ(alone.Bits(0), among.Bits(0));
    EXPECT_NE(among.Bits(0), among.Bits(1));
  }
}

TEST(Scan, RefusesWhatItWasNotBuiltFor) {
  ScanProblem problem({.length = 3});
  const auto refused = [&](auto change) {
    Scan op = problem.op();
    change(op);
    return LaunchScan(op, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](Scan& op) { op.state = 12; }));
  EXPECT_TRUE(refused([](Scan& op) { op.inner = 40; }));
  EXPECT_TRUE(refused([](Scan& op) { op.u_stride = 36; }));
  EXPECT_TRUE(refused([](Scan& op) { op.plan.lanes = 3; }));
  EXPECT_TRUE(refused([](Scan& op) { op.plan.chunks = 17; }));
  EXPECT_TRUE(refused([](Scan& op) {
    op.plan.chunks = 2;
    op.workspace = nullptr;
  }));
  EXPECT_TRUE(refused([](Scan& op) {
    op.plan.chunks = 2;
    op.cumulative = true;
  }));
  EXPECT_FALSE(refused([](Scan& op) { op.batch = 0; }));
}

// Every barrier and every wait is needed: without it some order of the threads is wrong.
TEST(Scan, NeedsEachOfItsBarriers) {
  const ScanCase given{.length = 100, .inner = 32, .plan = {.lanes = 2}};
  simt::SetOptions({.seed = 1});
  ASSERT_EQ(ScanProblem(given).Run(), "");
  const std::set<std::string> sites = simt::SyncSites();
  ASSERT_EQ(sites.size(), 2U);
  for (const std::string& site : sites) {
    bool noticed = false;
    for (uint64_t seed = 1; seed <= 8 && !noticed; ++seed) {
      simt::SetOptions({.seed = seed, .ignore = site});
      try {
        noticed = !ScanProblem(given).Run().empty();
      } catch (const std::runtime_error&) {
        noticed = true;
      }
    }
    EXPECT_TRUE(noticed) << site;
  }
  simt::SetOptions({});
}

TEST(ScanDeathTest, DiesOfATokenTooMany) {
  ScanProblem problem({.length = 32});
  Scan op = problem.op();
  ++op.length;
  EXPECT_DEATH(LaunchScan(op, nullptr), "");
}

TEST(PlanScan, GivesLanesBeforeChunks) {
  // Tiny, 8 frames: 24 warps a clip.
  const ScanPlan crowd = PlanScan(384, 1569, 64, 132, false);
  EXPECT_EQ(crowd.lanes, 1);
  EXPECT_EQ(crowd.chunks, 1);
  const ScanPlan some = PlanScan(384, 1569, 16, 132, false);
  EXPECT_EQ(some.lanes, 4);
  EXPECT_EQ(some.chunks, 1);
  const ScanPlan one = PlanScan(384, 1569, 1, 132, false);
  EXPECT_EQ(one.lanes, 4);
  EXPECT_EQ(one.chunks, 8);  // Not 16: chunks would be shorter than 128 tokens.
  EXPECT_EQ(PlanScan(384, 1569, 1, 132, true).chunks, 1);
  EXPECT_EQ(PlanScan(384, 12545, 1, 132, false).chunks, 16);
}

}  // namespace
}  // namespace scanline::cuda::testing
