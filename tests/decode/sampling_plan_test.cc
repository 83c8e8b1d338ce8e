#include "decode/sampling_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;

// `frames` frames at `rate` frames a second.
Timeline Even(int64_t frames, double rate) {
  Timeline timeline;
  for (int64_t i = 0; i < frames; ++i) timeline.start.push_back(static_cast<double>(i) / rate);
  timeline.end = static_cast<double>(frames) / rate;
  return timeline;
}

SamplingSpec WindowSpec(double seconds, double stride, int frames) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kWindow;
  spec.frames = frames;
  spec.window_seconds = seconds;
  spec.stride_seconds = stride;
  return spec;
}

std::vector<std::pair<double, double>> Borders(const std::vector<Window>& windows) {
  std::vector<std::pair<double, double>> borders;
  for (const Window& w : windows) borders.emplace_back(w.start_seconds, w.end_seconds);
  return borders;
}

TEST(UniformIndices, TakesTheMiddleOfEachSegment) {
  EXPECT_THAT(UniformIndices(9, 4), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(UniformIndices(300, 16), ElementsAre(9, 28, 46, 65, 84, 103, 121, 140, 159, 178, 196,
                                                   215, 234, 253, 271, 290));
}

TEST(UniformIndices, RepeatsFramesOfAShortClip) {
  EXPECT_THAT(UniformIndices(2, 5), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(UniformIndices(1, 3), ElementsAre(0, 0, 0));
}

TEST(K400Sparse, RoundsHalvesToTheEvenNeighbour) {
  // segment 0.5: 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5 -> 0 0 1 2 2 2 3 4
  EXPECT_THAT(K400SparseIndices(5, 8, 0, 1), ElementsAre(0, 0, 1, 2, 2, 2, 3, 4));
}

TEST(PlanWindows, AddsWindowsUntilOneReachesTheEnd) {
  EXPECT_THAT(Borders(PlanWindows(0, 2, 1, 0.5)),
              ElementsAre(std::pair(0.0, 1.0), std::pair(0.5, 1.5), std::pair(1.0, 2.0)));
}

TEST(PlanWindows, KeepsALastWindowThatIsAtLeastHalfFull) {
  EXPECT_THAT(Borders(PlanWindows(0, 2.5, 1, 1)),
              ElementsAre(std::pair(0.0, 1.0), std::pair(1.0, 2.0), std::pair(2.0, 2.5)));
}

TEST(PlanWindows, DrawsOutTheLastFullWindowOverASmallRest) {
  EXPECT_THAT(Borders(PlanWindows(0, 2.25, 1, 1)),
              ElementsAre(std::pair(0.0, 1.0), std::pair(1.0, 2.25)));
}

TEST(PlanWindows, GivesAShortClipOneWindow) {
  EXPECT_THAT(Borders(PlanWindows(0, 0.25, 1, 0.5)), ElementsAre(std::pair(0.0, 0.25)));
}

TEST(PlanWindows, LeavesGapsWhereTheStrideIsLonger) {
  EXPECT_THAT(Borders(PlanWindows(0, 5.5, 1, 2)),
              ElementsAre(std::pair(0.0, 1.0), std::pair(2.0, 3.0), std::pair(4.0, 5.0)));
}

TEST(PlanFrames, WindowsTakeTheFrameOnScreen) {
  // At 10 fps a window of 1 s with 4 frames looks at 0.125, 0.375, 0.625, 0.875 s.
  const auto plan = PlanFrames(WindowSpec(1, 1, 4), Even(20, 10));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->views.size(), 2u);
  EXPECT_THAT(plan->views[0].frames, ElementsAre(1, 3, 6, 8));
  EXPECT_THAT(plan->views[1].frames, ElementsAre(11, 13, 16, 18));
  EXPECT_EQ(plan->views[1].window, 1);
}

TEST(PlanFrames, WindowsFollowTimestampsNotIndices) {
  Timeline timeline;
  timeline.start = {0, 0.1, 0.2, 3.0, 3.1};  // a gap
  timeline.end = 4;
  const auto plan = PlanFrames(WindowSpec(4, 4, 4), timeline);  // 0.5, 1.5, 2.5, 3.5 s
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->views[0].frames, ElementsAre(2, 2, 2, 4));
}

TEST(PlanFrames, OverlappingWindowsShareFrames) {
  const auto plan = PlanFrames(WindowSpec(1, 0.5, 4), Even(40, 8));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->views.size(), 9u);
  EXPECT_EQ(plan->DistinctFrames().size(), 20u);  // not 36
}

TEST(PlanFrames, AClipUpToTheSingleLengthIsOneUniformWindow) {
  SamplingSpec spec = WindowSpec(1, 0.5, 4);
  spec.single_up_to_seconds = 2;
  const auto plan = PlanFrames(spec, Even(48, 24));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->views.size(), 1u);
  EXPECT_EQ(plan->views[0].frames, UniformIndices(48, 4));
  const auto longer = PlanFrames(spec, Even(49, 24));
  ASSERT_TRUE(longer.ok()) << longer.status();
  EXPECT_GT(longer->views.size(), 1u);
}

TEST(PlanFrames, ASegmentCountsOnlyItsFrames) {
  SamplingSpec spec;
  spec.frames = 2;
  spec.start_seconds = 1;
  spec.end_seconds = 2;
  const auto plan = PlanFrames(spec, Even(30, 10));  // frames 10 to 19
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->views[0].frames, ElementsAre(12, 17));
}

TEST(PlanFrames, ASegmentBeginsWithTheFrameOnScreen) {
  SamplingSpec spec;
  spec.frames = 1;
  spec.start_seconds = 1.05;
  spec.end_seconds = 1.08;
  const auto plan = PlanFrames(spec, Even(30, 10));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->views[0].frames, ElementsAre(10));
}

TEST(PlanFrames, FramesOfOneInstantAllCount) {
  Timeline timeline;
  timeline.start = {0, 0, 0, 0.1};
  timeline.end = 0.2;
  SamplingSpec spec;
  spec.frames = 4;
  const auto plan = PlanFrames(spec, timeline);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->views[0].frames, ElementsAre(0, 1, 2, 3));
}

TEST(PlanFrames, RefusesASegmentBeyondTheClip) {
  SamplingSpec spec;
  const auto refusal = [&spec] {
    const absl::Status status = PlanFrames(spec, Even(30, 10)).status();
    EXPECT_EQ(ReasonOf(status), Reason::kSegmentOutOfRange);
    return std::string(status.message());
  };
  spec.start_seconds = 5;
  EXPECT_EQ(refusal(), "the clip is 3.000 s long; the request asks for 5.000 s to its end");
  spec.end_seconds = 6;
  EXPECT_EQ(refusal(), "the clip is 3.000 s long; the request asks for 5.000 s to 6.000 s");
  spec.start_seconds = 3;
  refusal();
  spec.start_seconds = 0;
  EXPECT_EQ(refusal(), "the clip is 3.000 s long; the request asks for 0.000 s to 6.000 s");
}

TEST(PlanFrames, TemporalViewsComeInOrder) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kK400Sparse;
  spec.frames = 8;
  spec.temporal_views = 4;
  const auto plan = PlanFrames(spec, Even(300, 30));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->views.size(), 4u);
  EXPECT_EQ(plan->views[2].temporal_view, 2);
  EXPECT_THAT(plan->views[0].frames, ElementsAre(7, 44, 82, 119, 157, 194, 231, 269));
  EXPECT_THAT(plan->views[3].frames, ElementsAre(29, 66, 104, 141, 179, 216, 253, 291));
}

TEST(PlanFrames, NegativePositionsCountFromTheEnd) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kK400Dense;
  spec.frames = 16;
  spec.frame_step = 4;
  const auto plan = PlanFrames(spec, Even(100, 25));  // as released: from -46 to 17
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->views[0].frames.front(), 54);
  EXPECT_EQ(plan->views[0].frames.back(), 17);
}

TEST(PlanFrames, AvaLooksAroundEverySecond) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kAva;
  spec.frames = 4;
  spec.frame_step = 2;
  spec.frame_rate = 0;
  const auto plan = PlanFrames(spec, Even(30, 10));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->views.size(), 2u);  // at 1 and 2 s
  EXPECT_THAT(plan->views[0].frames, ElementsAre(6, 8, 10, 12));
  EXPECT_THAT(plan->views[1].frames, ElementsAre(16, 18, 20, 22));
  EXPECT_DOUBLE_EQ(plan->windows[1].start_seconds, 1.5);
  EXPECT_DOUBLE_EQ(plan->windows[1].end_seconds, 2.5);
}

TEST(PlanFrames, RefusesMoreWindowsThanItCanHold) {
  const auto plan = PlanFrames(WindowSpec(1, 1e-6, 1), Even(300, 30));
  EXPECT_EQ(ReasonOf(plan.status()), Reason::kFieldInvalid);
}

TEST(PlanFrames, RefusesAnEmptyVideo) {
  EXPECT_EQ(ReasonOf(PlanFrames({}, Timeline{}).status()), Reason::kNoVideoStream);
}

TEST(ValidateSampling, RefusesWhatCannotBeMeant) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<SamplingSpec> bad(9);
  bad[0].frames = 0;
  bad[1].temporal_views = 2;  // uniform has one
  bad[2] = WindowSpec(1, 0, 8);
  bad[3] = WindowSpec(nan, 1, 8);
  bad[4].start_seconds = -1;
  bad[5].start_seconds = 2;
  bad[5].end_seconds = 1;
  bad[6].start_seconds = nan;
  bad[7].frame_step = 0;
  bad[8].frames = kMaxFramesPerView + 1;
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(ReasonOf(ValidateSampling(bad[i])), Reason::kFieldInvalid) << i;
  }
  EXPECT_TRUE(ValidateSampling(WindowSpec(1, 0.5, 16)).ok());
}

}  // namespace
}  // namespace scanline
