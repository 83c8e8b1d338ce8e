#include "decode/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

auto Near(double value) { return DoubleNear(value, 1e-9); }

constexpr int64_t kGone = kNoPts;

TEST(BuildTimeline, StartsAtZeroAndEndsAfterTheLastStep) {
  const Timeline t = BuildTimeline({100, 140, 200}, 0.01, 0.5);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(0.4), Near(1)));
  EXPECT_NEAR(t.end, 1.6, 1e-9);
}

TEST(BuildTimeline, GoesOnWithTheLastStepWhereStampsAreMissing) {
  const Timeline t = BuildTimeline({0, 10, kGone, kGone, 50}, 0.1, 9);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(1), Near(2), Near(3), Near(5)));
}

TEST(BuildTimeline, CountsBackFromTheFirstKnownStamp) {
  const Timeline t = BuildTimeline({kGone, kGone, 70, 80}, 0.1, 0.5);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(0.5), Near(1), Near(2)));
}

TEST(BuildTimeline, IsAnEvenGridWithoutAnyStamp) {
  const Timeline t = BuildTimeline({kGone, kGone, kGone}, 0.1, 0.04);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(0.04), Near(0.08)));
  EXPECT_NEAR(t.end, 0.12, 1e-9);
}

TEST(BuildTimeline, PutsAJoinedPartBehindTheFirst) {
  const Timeline t = BuildTimeline({0, 10, 20, 0, 10, 20}, 0.1, 1);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(1), Near(2), Near(3), Near(4), Near(5)));
}

TEST(BuildTimeline, LeavesOutASingleStampOutOfLine) {
  const Timeline t = BuildTimeline({0, 10, 999'999, 30, 40}, 0.1, 1);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(1), Near(2), Near(3), Near(4)));
}

TEST(BuildTimeline, KeepsGapsAndEqualStamps) {
  const Timeline t = BuildTimeline({0, 0, 10, 500}, 0.1, 1);
  EXPECT_THAT(t.start, ElementsAre(Near(0), Near(0), Near(1), Near(50)));
}

TEST(BuildTimeline, SurvivesStampsFurtherApartThanInt64) {
  const Timeline t = BuildTimeline({kNoPts + 1, std::numeric_limits<int64_t>::max()}, 1, 1);
  EXPECT_GT(t.end, 1e18);
}

TEST(FrameAt, GivesTheLastFrameThatCameOn) {
  const Timeline t = BuildTimeline({0, 10, 20}, 0.1, 1);
  EXPECT_EQ(FrameAt(t, -1), 0);
  EXPECT_EQ(FrameAt(t, 0.99), 0);
  EXPECT_EQ(FrameAt(t, 1), 1);
  EXPECT_EQ(FrameAt(t, 99), 2);
}

}  // namespace
}  // namespace scanline
