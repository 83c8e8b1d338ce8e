// Decoding while a file arrives: it begins before the last byte where the container allows, and
// never changes an answer.

#include "decode/early_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "decode/decode_clip.h"
#include "decode/sampling_plan.h"
#include "tests/support/arriving_file.h"
#include "tests/support/corpus.h"

namespace scanline {
namespace {

using testing::ArrivingFile;

FrameSpec Windows() {
  FrameSpec spec;
  spec.size = 32;
  spec.sampling = {.rule = SamplingRule::kWindow,
                   .frames = 4,
                   .window_seconds = 0.5,
                   .stride_seconds = 0.25,
                   .single_up_to_seconds = 0.5};
  return spec;
}

FrameSpec Sparse() {
  FrameSpec spec;
  spec.size = 32;
  spec.sampling = {.rule = SamplingRule::kK400Sparse, .frames = 8};
  return spec;
}

// Padded pictures round keyframes that are shown.
FrameSpec Keyframes() {
  FrameSpec spec;
  spec.size = 32;
  spec.resize = ResizeRule::kShortSide256Pad16;
  spec.sampling = {.rule = SamplingRule::kAva, .frames = 8, .frame_step = 4};
  spec.sampling.keyframes = KeyframeSpec{.interval_seconds = 0.5, .alone = true, .show = true};
  return spec;
}

EarlyPictures CollectOf(const std::string& file, double share, const FrameSpec& spec) {
  const std::vector<uint8_t> bytes = testing::ReadBytes(testing::ClipsFolder() + "/" + file);
  ArrivingFile input(bytes, share);
  return EarlyPictures::Collect(input, spec, {}, Cancel());
}

class Streamable : public ::testing::TestWithParam<const char*> {};

TEST_P(Streamable, WindowsAreDecodedBeforeTheLastByteHasCome) {
  const EarlyPictures early = CollectOf(GetParam(), 0.9, Windows());
  EXPECT_GT(early.frames_walked(), 0);
  EXPECT_GT(early.frames_converted(), 0);
}

INSTANTIATE_TEST_SUITE_P(EarlyPictures, Streamable,
                         ::testing::Values("mp4_h264_b3.mp4", "mp4_fragmented.mp4", "ts_h264.ts",
                                           "mkv_live.mkv", "webm_vp9.webm", "mkv_av1.mkv"));

TEST(EarlyPictures, RulesByNumberBeginWhereTheContainerDeclaresIt) {
  EXPECT_GT(CollectOf("mp4_h264_b3.mp4", 0.9, Sparse()).frames_converted(), 0);
  EXPECT_EQ(CollectOf("ts_h264.ts", 0.9, Sparse()).frames_walked(), 0);
}

TEST(EarlyPictures, AnIndexAtTheEndIsWaitedFor) {
  EXPECT_EQ(CollectOf("mov_h264_moovend.mov", 0.9, Windows()).frames_walked(), 0);
}

// How often the forecast was of use shows that the comparison compares something.
struct RuleCase {
  const char* name;
  FrameSpec spec;
};
void PrintTo(const RuleCase& rule, std::ostream* out) { *out << rule.name; }

class EarlyPicturesOfTheCorpus : public ::testing::TestWithParam<RuleCase> {};

INSTANTIATE_TEST_SUITE_P(Rules, EarlyPicturesOfTheCorpus,
                         ::testing::Values(RuleCase{"windows", Windows()},
                                           RuleCase{"sparse", Sparse()},
                                           RuleCase{"keyframes", Keyframes()}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EarlyPicturesOfTheCorpus, ChangeNoAnswer) {
  int compared = 0;
  int of_use = 0;
  for (const testing::CorpusClip& row : testing::ReadCorpus()) {
    SCOPED_TRACE(row.file);
    const std::vector<uint8_t> bytes = row.bytes();
    const FrameSpec& spec = GetParam().spec;
    ArrivingFile input(bytes, 1.0);
    const auto arrived = DecodeClip(input, spec, {}, Cancel());
    const auto whole = DecodeClip(bytes, spec, {}, Cancel());
    ASSERT_EQ(ReasonOf(arrived.status()), ReasonOf(whole.status()))
        << arrived.status() << " / " << whole.status();
    ASSERT_EQ(arrived.status().message(), whole.status().message());
    ++compared;
    if (!whole.ok()) continue;
    of_use += arrived->stats.frames_converted > 0 &&
              arrived->stats.frames_walked > whole->stats.frames_walked;
    EXPECT_EQ(arrived->pixels, whole->pixels);
    EXPECT_EQ(arrived->width, whole->width);
    EXPECT_EQ(arrived->valid_height, whole->valid_height);
    EXPECT_EQ(arrived->keyframes.size(), whole->keyframes.size());
    EXPECT_EQ(arrived->source.frames, whole->source.frames);
    EXPECT_EQ(arrived->source.width, whole->source.width);
    EXPECT_EQ(arrived->source.duration_seconds, whole->source.duration_seconds);
    EXPECT_EQ(arrived->notices.size(), whole->notices.size());
    ASSERT_EQ(arrived->views.size(), whole->views.size());
    for (size_t i = 0; i < whole->views.size(); ++i) {
      EXPECT_EQ(arrived->views[i].pictures, whole->views[i].pictures);
    }
    ASSERT_EQ(arrived->sampled.size(), whole->sampled.size());
    for (size_t i = 0; i < whole->sampled.size(); ++i) {
      EXPECT_EQ(arrived->sampled[i].index, whole->sampled[i].index);
      EXPECT_EQ(arrived->sampled[i].seconds, whole->sampled[i].seconds);
      EXPECT_EQ(arrived->sampled[i].corrupt, whole->sampled[i].corrupt);
    }
  }
  EXPECT_GT(compared, 0);
  EXPECT_GT(of_use, 0);
}

TEST(EarlyPictures, GiveWindowsOfALongClipAllButTheLastPictures) {
  const std::vector<uint8_t> bytes =
      testing::ReadBytes(testing::ClipsFolder() + "/real/bigbuckbunny.mp4");
  const FrameSpec spec = Windows();
  ArrivingFile input(bytes, 1.0);
  const EarlyPictures early = EarlyPictures::Collect(input, spec, {}, Cancel());
  const auto clip = DecodeClip(bytes, spec, {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  const auto made = std::count_if(clip->sampled.begin(), clip->sampled.end(),
                                  [&](const auto& f) { return early.Find(f.index) != nullptr; });
  EXPECT_GE(made, static_cast<int64_t>(clip->sampled.size()) - spec.sampling.frames);
}

// Of each keyframe's frame a byte of the picture that came last as a keyframe.
template <typename Input>
absl::StatusOr<std::map<int64_t, uint8_t>> ShownKeyframes(Input&& input) {
  std::map<int64_t, uint8_t> all;
  const auto clip =
      DecodeClipWatched(input, Keyframes(), {}, Cancel(), [&](const FullFrame& frame) {
        if (frame.keyframe) all[frame.index] = frame.rgb[frame.height / 2 * frame.stride];
        return absl::OkStatus();
      });
  if (!clip.ok()) return clip.status();
  std::map<int64_t, uint8_t> shown;
  for (const Keyframe& keyframe : clip->keyframes) {
    EXPECT_EQ(all.count(keyframe.frame), 1u) << keyframe.frame;
    shown[keyframe.frame] = all[keyframe.frame];
  }
  return shown;
}

TEST(EarlyPictures, ShowEveryKeyframeAsTheWholeFileDoes) {
  int compared = 0;
  for (const testing::CorpusClip& row : testing::ReadCorpus()) {
    SCOPED_TRACE(row.file);
    const std::vector<uint8_t> bytes = row.bytes();
    const auto whole = ShownKeyframes(absl::Span<const uint8_t>(bytes));
    if (!whole.ok()) continue;
    ArrivingFile input(bytes, 1.0);
    const auto early = ShownKeyframes(input);
    ASSERT_TRUE(early.ok()) << early.status();
    EXPECT_EQ(*early, *whole);
    compared += static_cast<int>(whole->size());
  }
  EXPECT_GT(compared, 0);
}

TEST(WindowRuleWants, WhatThePlanOfALongClipHolds) {
  for (const double step : {1.0 / 25, 1.0 / 29.97, 0.2, 0.0073}) {
    for (const auto& [seconds, stride] : {std::pair(1.0, 0.5), {0.7, 0.9}, {0.5, 2.1}}) {
      SCOPED_TRACE(::testing::Message() << step << " " << seconds << " " << stride);
      Timeline timeline;
      for (int i = 0; i < 2000; ++i) timeline.start.push_back(i * step);
      timeline.end = 2000 * step;
      SamplingSpec spec = {.rule = SamplingRule::kWindow,
                           .frames = 16,
                           .window_seconds = seconds,
                           .stride_seconds = stride};
      const auto plan = PlanFrames(spec, timeline);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const std::vector<int64_t> frames = plan->DistinctFrames();
      const std::set<int64_t> planned(frames.begin(), frames.end());
      // The last windows may be cut or drawn out: they are left out here.
      for (int64_t i = 0; timeline.start[i] < timeline.end - 2 * (seconds + stride); ++i) {
        ASSERT_EQ(WindowRuleWants(spec, timeline.start[i], timeline.start[i + 1]),
                  planned.count(i) != 0)
            << "frame " << i;
      }
    }
  }
}

}  // namespace
}  // namespace scanline
