// Where keyframes are and which frames are looked at round them.
#include "decode/keyframes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "decode/sampling_plan.h"

namespace scanline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Timeline Even(int64_t frames, double rate) {
  Timeline timeline;
  for (int64_t i = 0; i < frames; ++i) timeline.start.push_back(static_cast<double>(i) / rate);
  timeline.end = static_cast<double>(frames) / rate;
  return timeline;
}

// 16 frames, every fourth, as the reference looks at AVA.
SamplingSpec Ava(KeyframeSpec keyframes = {}) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kAva;
  spec.frames = 16;
  spec.frame_step = 4;
  spec.keyframes = std::move(keyframes);
  return spec;
}

// The default bundle's.
SamplingSpec Windows(KeyframeSpec keyframes = {}) {
  SamplingSpec spec;
  spec.rule = SamplingRule::kWindow;
  spec.frames = 16;
  spec.window_seconds = 1;
  spec.stride_seconds = 0.5;
  spec.single_up_to_seconds = 2;
  spec.keyframes = std::move(keyframes);
  spec.keyframes->box_frame = 8;
  return spec;
}

std::vector<double> Times(const SamplingSpec& spec, const Timeline& timeline) {
  return KeyframeTimes(spec, timeline, {0, timeline.frames(), 0, timeline.end});
}

SamplingPlan Plan(const SamplingSpec& spec, const Timeline& timeline) {
  EXPECT_TRUE(ValidateSampling(spec).ok()) << ValidateSampling(spec);
  auto plan = PlanFrames(spec, timeline);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : SamplingPlan();
}

// first, first + step, ...
std::vector<int64_t> Every(int64_t first, int64_t step, int count) {
  std::vector<int64_t> frames;
  for (int i = 0; i < count; ++i) frames.push_back(first + i * step);
  return frames;
}

TEST(KeyframeTimes, AreWholeSecondsAwayFromTheEnds) {
  EXPECT_THAT(Times(Ava(), Even(120, 30)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Times(Ava(), Even(136, 30)), ElementsAre(1, 2, 3, 4));  // half a second follows
  EXPECT_THAT(Times(Ava(), Even(134, 30)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Times(Ava({.interval_seconds = 0.5}), Even(60, 30)), ElementsAre(0.5, 1, 1.5));
}

TEST(KeyframeTimes, ASegmentKeepsTheClipsSeconds) {
  const Timeline timeline = Even(300, 30);
  EXPECT_THAT(KeyframeTimes(Ava(), timeline, {159, 75, 5.3, 7.8}), ElementsAre(6, 7));
}

TEST(KeyframeTimes, AShortClipHasOneInItsMiddle) {
  EXPECT_THAT(Times(Ava(), Even(24, 30)), ElementsAre(DoubleNear(0.4, 1e-9)));
}

TEST(KeyframeTimes, AClipOfOneWindowHasItsBoxFrame) {
  // Uniform over 24 frames: number 8 of 16 is frame 12.
  EXPECT_THAT(Times(Windows(), Even(24, 16)), ElementsAre(0.75));
  EXPECT_THAT(Times(Windows(), Even(48, 16)), ElementsAre(1, 2));
  EXPECT_THAT(Times(Windows({.interval_seconds = 0.25}), Even(16, 16)),
              ElementsAre(0.25, 0.5, 0.75));
}

TEST(NearestFrame, IsTheOneThatStartsNearest) {
  const Timeline timeline = Even(10, 10);
  EXPECT_EQ(NearestFrame(timeline, 0.44), 4);
  EXPECT_EQ(NearestFrame(timeline, 0.46), 5);
  EXPECT_EQ(NearestFrame(timeline, -1), 0);
  EXPECT_EQ(NearestFrame(timeline, 7), 9);
  // The first frame from the second on, not the one still on screen.
  EXPECT_EQ(NearestFrame(Even(90, 30000.0 / 1001), 1), 30);
}

TEST(PlanFrames, AvaSpansSixtyFourFramesRoundTheKeyframe) {
  const SamplingPlan plan = Plan(Ava(), Even(360, 30));
  ASSERT_EQ(plan.keyframes.size(), 11u);
  EXPECT_EQ(plan.keyframes[4], (PlannedKeyframe{5, 150, 4}));
  EXPECT_EQ(plan.views[4].frames, Every(150 - 31, 4, 16));
  // Of 60 frames, as in the reference's vector ava_temporal_crop.n60.
  std::vector<int64_t> ends = AvaIndices(60, 16, 4);
  EXPECT_EQ(plan.views[0].frames, ends);
}

TEST(PlanFrames, AvaCountsFramesOfNearlyThirtyASecondByNumber) {
  const SamplingPlan plan = Plan(Ava(), Even(300, 30000.0 / 1001));
  EXPECT_EQ(plan.keyframes[3].frame, 120);
  EXPECT_EQ(plan.views[3].frames, Every(120 - 31, 4, 16));
}

TEST(PlanFrames, AvaTakesOtherRatesByTimeAtThirty) {
  // At 60 a second every second frame would be one of 30: step 8.
  EXPECT_EQ(Plan(Ava(), Even(600, 60)).views[3].frames, Every(240 - 62, 8, 16));
  // At 10 a second three instants share a frame; every 4/30 s, the frame on screen.
  const SamplingPlan slow = Plan(Ava(), Even(100, 10));
  const std::vector<int64_t>& frames = slow.views[4].frames;
  for (int k = 0; k < 16; ++k) {
    const double at = 5 + (-31 + 4 * k) / 30.0;
    EXPECT_EQ(frames[k], static_cast<int64_t>(std::floor(at * 10 + 1e-6))) << k;
  }
  // Unless the bundle counts the clip's own frames.
  SamplingSpec own = Ava();
  own.frame_rate = 0;
  EXPECT_EQ(Plan(own, Even(100, 10)).views[4].frames[7], 50 - 3);
}

TEST(PlanFrames, AGapIsFollowedInTime) {
  // 30 a second, but a second is missing after frame 60.
  Timeline timeline = Even(120, 30);
  for (size_t i = 60; i < timeline.start.size(); ++i) timeline.start[i] += 1;
  timeline.end += 1;
  const SamplingPlan plan = Plan(Ava({.seconds = {1.9}}), timeline);
  EXPECT_EQ(plan.keyframes[0].frame, 57);
  // 1.9 + 29/30 s is still within the gap: the last frame before it.
  EXPECT_EQ(plan.views[plan.keyframes[0].view].frames.back(), 59);
}

TEST(PlanFrames, AWindowHasItsBoxFrameAtTheKeyframe) {
  const SamplingPlan plan = Plan(Windows({.alone = true}), Even(96, 16));
  ASSERT_EQ(plan.keyframes.size(), 5u);
  EXPECT_EQ(plan.keyframes[2], (PlannedKeyframe{3, 48, 2}));
  EXPECT_EQ(plan.views[2].frames, Every(40, 1, 16));
  EXPECT_EQ(plan.views[2].window, 2);
  ASSERT_EQ(plan.windows.size(), 5u);
  EXPECT_DOUBLE_EQ(plan.windows[2].end_seconds - plan.windows[2].start_seconds, 1);
}

TEST(PlanFrames, BoxesOfAnyTimeHaveTheirKeyframesInTheirOrder) {
  const SamplingPlan plan =
      Plan(Windows({.seconds = {4, 0, 4, 5.97}, .alone = true}), Even(96, 16));
  ASSERT_EQ(plan.keyframes.size(), 4u);
  EXPECT_EQ(plan.keyframes[0].frame, 64);
  EXPECT_EQ(plan.keyframes[1].frame, 0);
  EXPECT_EQ(plan.keyframes[2].view, plan.keyframes[0].view);
  EXPECT_EQ(plan.keyframes[3].frame, 95);
  EXPECT_EQ(plan.views.size(), 3u);
  // The ends are trimmed: the first frame stands for what is before it.
  EXPECT_THAT(plan.views[1].frames, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(PlanFrames, KeyframesShareTheViewsThatLookAtTheSame) {
  // The rule `ava` looks round the same moments anyhow.
  const SamplingPlan ava = Plan(Ava(), Even(360, 30));
  EXPECT_EQ(ava.views.size(), 11u);
  EXPECT_EQ(ava.windows.size(), 11u);
  // Here the second window is the one round 1 s, too; 1.1 s has a view of its own, behind those of
  // the windows and of none.
  const SamplingPlan both = Plan(Windows({.seconds = {1, 1.1}}), Even(96, 16));
  ASSERT_EQ(both.windows.size(), 11u);
  ASSERT_EQ(both.views.size(), 12u);
  EXPECT_EQ(both.keyframes[0].view, 1);
  EXPECT_EQ(both.keyframes[1].view, 11);
  for (int v = 0; v < 12; ++v) EXPECT_EQ(both.views[v].window, v < 11 ? v : -1);
  // One window is the keyframe's too.
  const SamplingPlan one = Plan(Windows(), Even(24, 16));
  EXPECT_EQ(one.views.size(), 1u);
  EXPECT_EQ(one.views[0].frames, UniformIndices(24, 16));
  EXPECT_EQ(one.keyframes[0], (PlannedKeyframe{0.75, 12, 0}));
}

TEST(PlanFrames, KeyframesAreDecodedWhereTheyAreShown) {
  SamplingSpec spec = Ava({.show = true});
  EXPECT_THAT(Plan(spec, Even(90, 30)).DistinctFrames(), ::testing::IsSupersetOf({30, 60}));
  spec.keyframes->show = false;
  EXPECT_THAT(Plan(spec, Even(90, 30)).DistinctFrames(), ::testing::Not(::testing::Contains(30)));
}

TEST(PlanFrames, RefusesBoxesBeyondTheClip) {
  const auto plan = PlanFrames(Windows({.seconds = {1, 6.5}}), Even(96, 16));
  EXPECT_EQ(ReasonOf(plan.status()), Reason::kSegmentOutOfRange);
  EXPECT_THAT(plan.status().message(), ::testing::HasSubstr("6.500 s"));
}

TEST(ValidateSampling, RefusesKeyframesThatCannotBeMeant) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<SamplingSpec> bad = {Ava({.interval_seconds = 0}), Ava({.interval_seconds = nan}),
                                   Ava({.seconds = {nan}}),      Ava({.seconds = {-1}}),
                                   Ava({.seconds = {infinity}}), Ava({.box_frame = 16}),
                                   Ava({.box_frame = -1}),       Ava()};
  bad.back().rule = SamplingRule::kUniform;
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(ReasonOf(ValidateSampling(bad[i])), Reason::kFieldInvalid) << i;
  }
  SamplingSpec rate = Ava();
  rate.frame_rate = nan;
  EXPECT_EQ(ReasonOf(ValidateSampling(rate)), Reason::kFieldInvalid);
}

TEST(PlanFrames, RefusesMoreKeyframesThanItCanHold) {
  const auto plan = PlanFrames(Ava({.interval_seconds = 0.001}), Even(3000, 30));
  EXPECT_EQ(ReasonOf(plan.status()), Reason::kFieldInvalid);
}

}  // namespace
}  // namespace scanline
