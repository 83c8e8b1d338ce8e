#include "decode/decode_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/support/corpus.h"
#include "tests/support/pattern.h"

namespace scanline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;

std::vector<uint8_t> Bytes(const std::string& file) {
  return testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/" + file);
}

FrameSpec Uniform(int frames, int size = 64) {
  FrameSpec spec;
  spec.sampling.frames = frames;
  spec.size = size;
  return spec;
}

std::optional<Reason> ReasonFor(const std::string& file, const FrameSpec& spec,
                                const DecodeOptions& options = {}) {
  return ReasonOf(DecodeClip(Bytes(file), spec, options, Cancel()).status());
}

TEST(DecodeClip, SaysWhatItReadAndWhatItLookedAt) {
  const auto clip = DecodeClip(Bytes("mp4_h264_b3.mp4"), Uniform(4), {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->source.codec, "h264");
  EXPECT_THAT(clip->source.container, ::testing::HasSubstr("mp4"));
  EXPECT_EQ(clip->source.frames, 48);
  EXPECT_NEAR(clip->source.duration_seconds, 2.0, 1e-6);
  EXPECT_EQ(clip->source.width, 192);
  EXPECT_EQ(clip->source.height, 144);
  ASSERT_EQ(clip->windows.size(), 1u);
  EXPECT_NEAR(clip->windows[0].end_seconds, 2.0, 1e-6);
  EXPECT_THAT(clip->sampled,
              ElementsAre(Field(&SampledFrame::index, 6), Field(&SampledFrame::index, 18),
                          Field(&SampledFrame::index, 30), Field(&SampledFrame::index, 42)));
  EXPECT_NEAR(clip->sampled[0].seconds.value(), 0.25, 1e-6);
  EXPECT_EQ(clip->stats.frames_converted, 4);
  EXPECT_GT(clip->stats.cpu_seconds, 0);
  EXPECT_TRUE(clip->notices.empty());
}

TEST(DecodeClip, TheModelsPictureShowsTheSampledFrame) {
  const auto clip = DecodeClip(Bytes("mp4_h264_b3.mp4"), Uniform(4, 224), {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  for (int i = 0; i < 4; ++i) {
    // Short side 224, centre crop 224.
    const auto pattern = testing::ReadPattern(clip->picture(i), 224, 224, 224 * 3, 224);
    EXPECT_TRUE(pattern.ok);
    EXPECT_EQ(pattern.number, clip->sampled[i].index);
  }
}

TEST(DecodeClip, RepeatedFramesAreStoredOnce) {
  const auto clip = DecodeClip(Bytes("mp4_2frames.mp4"), Uniform(8), {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->sampled.size(), 2u);
  EXPECT_EQ(clip->pixels.size(), 2 * clip->picture_bytes());
  EXPECT_THAT(clip->views[0].pictures, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(DecodeClip, OverlappingWindowsShareTheirPictures) {
  FrameSpec spec = Uniform(8);
  spec.sampling.rule = SamplingRule::kWindow;
  spec.sampling.window_seconds = 1;
  spec.sampling.stride_seconds = 0.25;
  const auto clip = DecodeClip(Bytes("mp4_h264_b3.mp4"), spec, {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->windows.size(), 5u);
  ASSERT_EQ(clip->views.size(), 5u);
  EXPECT_EQ(clip->sampled.size(), 16u);  // of 5 x 8 looks
  EXPECT_EQ(clip->pixels.size(), 16 * clip->picture_bytes());
  EXPECT_EQ(clip->stats.frames_converted, 16);
  EXPECT_EQ(clip->views[4].window, 4);
  EXPECT_NEAR(clip->windows[4].start_seconds, 1, 1e-9);
}

TEST(DecodeClip, ViewsAreTemporalThenSpatial) {
  FrameSpec spec = Uniform(4, 32);
  spec.sampling.rule = SamplingRule::kK400Sparse;
  spec.sampling.temporal_views = 2;
  spec.spatial_views = 3;
  const auto clip = DecodeClip(Bytes("mp4_h264_b3.mp4"), spec, {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->views.size(), 6u);
  EXPECT_EQ(clip->views[4].temporal_view, 1);
  EXPECT_EQ(clip->views[4].spatial_view, 1);
  EXPECT_EQ(clip->pixels.size(), clip->sampled.size() * 3 * clip->picture_bytes());
  for (const View& view : clip->views) {
    for (int picture : view.pictures) EXPECT_EQ(picture % 3, view.spatial_view);
  }
}

TEST(DecodeClip, ASizeChangeInMidStreamGivesBothSizesRight) {
  for (const char* file : {"ts_concat_resize.ts", "raw_concat_resize.h264"}) {
    SCOPED_TRACE(file);
    std::set<std::pair<int, int>> sizes;
    const auto clip =
        DecodeClipWatched(Bytes(file), Uniform(24), {}, Cancel(), [&](const FullFrame& frame) {
          sizes.emplace(frame.width, frame.height);
          EXPECT_TRUE(testing::ReadPattern(frame.rgb, frame.width, frame.height, frame.stride).ok);
          return absl::OkStatus();
        });
    ASSERT_TRUE(clip.ok()) << clip.status();
    EXPECT_EQ(sizes.size(), 2u);
  }
}

TEST(DecodeClip, ThePixelLimitHoldsInMidStream) {
  // The first size fits, the second does not.
  int largest = 0, smallest = 1 << 30;
  const auto all = DecodeClipWatched(Bytes("ts_concat_resize.ts"), Uniform(24), {}, Cancel(),
                                     [&](const FullFrame& frame) {
                                       largest = std::max(largest, frame.width * frame.height);
                                       smallest = std::min(smallest, frame.width * frame.height);
                                       return absl::OkStatus();
                                     });
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_LT(smallest, largest);
  DecodeOptions options;
  options.limits.max_pixels = largest - 1;
  EXPECT_EQ(ReasonFor("ts_concat_resize.ts", Uniform(24), options), Reason::kResolutionLimit);
}

TEST(DecodeClip, LimitsAreTypedErrors) {
  const auto with = [](auto set) {
    DecodeOptions options;
    set(options.limits);
    return options;
  };
  const std::string file = "mp4_h264_b3.mp4";
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) { l.max_bytes = 100; })),
            Reason::kClipTooLarge);
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) { l.max_pixels = 192 * 144 - 1; })),
            Reason::kResolutionLimit);
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) { l.max_frames = 47; })),
            Reason::kFrameLimit);
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) { l.max_duration_seconds = 1.9; })),
            Reason::kDurationLimit);
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) { l.max_cpu_seconds = 0; })),
            Reason::kDecodeBudget);
  EXPECT_EQ(
      ReasonFor(file, Uniform(8), with([](auto& l) { l.max_clip_bytes = 8 * 64 * 64 * 3 - 1; })),
      Reason::kFrameLimit);
  EXPECT_EQ(ReasonFor(file, Uniform(8), with([](auto& l) {
                        l.max_frames = 48;
                        l.max_pixels = 192 * 144;
                        l.max_clip_bytes = 8 * 64 * 64 * 3;
                        l.max_duration_seconds = 2.0001;
                      })),
            std::nullopt);
}

TEST(DecodeClip, PacketsWithoutAFrameAreBounded) {
  DecodeOptions options;
  options.limits.max_packets_without_frame = 3;  // joined in mid-group: 20 packets give nothing
  EXPECT_EQ(ReasonFor("ts_start_midgop.ts", Uniform(8), options), Reason::kDecodeBudget);
}

TEST(DecodeClip, SegmentsAreTakenOrRefused) {
  FrameSpec spec = Uniform(2);
  spec.sampling.start_seconds = 1;
  const auto clip = DecodeClip(Bytes("mp4_h264_b3.mp4"), spec, {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_THAT(clip->sampled,
              ElementsAre(Field(&SampledFrame::index, 30), Field(&SampledFrame::index, 42)));
  EXPECT_EQ(clip->stats.frames_walked + clip->stats.frames_skipped, 43) << "stops after the last";
  spec.sampling.start_seconds = 2.5;
  EXPECT_EQ(ReasonFor("mp4_h264_b3.mp4", spec), Reason::kSegmentOutOfRange);
  EXPECT_EQ(ReasonFor("avi_mpeg4.avi", spec), Reason::kSegmentOutOfRange);
  spec.sampling.end_seconds = 1;
  EXPECT_EQ(ReasonFor("mp4_h264_b3.mp4", spec), Reason::kFieldInvalid);
}

TEST(DecodeClip, StopsForACancelledOrLateRequest) {
  const std::vector<uint8_t> bytes = Bytes("real/bigbuckbunny.mp4");
  const Cancel cancelled;
  cancelled.RequestCancel();
  EXPECT_EQ(ReasonOf(DecodeClip(bytes, Uniform(8), {}, cancelled).status()), Reason::kCancelled);
  const Cancel late(absl::Now() - absl::Seconds(1));
  EXPECT_EQ(ReasonOf(DecodeClip(bytes, Uniform(8), {}, late).status()), Reason::kExpiredInDecode);
}

TEST(DecodeClip, StopsInTheMiddle) {
  const std::vector<uint8_t> bytes = Bytes("real/bigbuckbunny.mp4");
  const Cancel cancel;
  int frames = 0;
  const auto clip = DecodeClipWatched(bytes, Uniform(16), {}, cancel, [&](const FullFrame&) {
    if (++frames == 2) cancel.RequestCancel();
    return absl::OkStatus();
  });
  EXPECT_EQ(ReasonOf(clip.status()), Reason::kCancelled);
  EXPECT_EQ(frames, 2);
}

TEST(DecodeClip, AnErrorOfTheWatcherEndsIt) {
  const auto clip =
      DecodeClipWatched(Bytes("mp4_h264_b3.mp4"), Uniform(8), {}, Cancel(),
                        [](const FullFrame&) { return absl::UnavailableError("disk full"); });
  EXPECT_EQ(clip.status().message(), "disk full");
}

TEST(DecodeClip, ThreadsDecodeSideBySide) {
  const std::vector<uint8_t> good = Bytes("mp4_h264_b3.mp4"), bad = Bytes("ivf_vp8_huge.ivf");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto clip = DecodeClip(t % 2 ? good : bad, Uniform(4), {}, Cancel());
        if (t % 2) {
          EXPECT_TRUE(clip.ok()) << clip.status();
        } else {
          EXPECT_EQ(ReasonOf(clip.status()), Reason::kResolutionLimit);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DecodeClip, ACutFileIsTruncatedUnlessPartialClipsAreAllowed) {
  EXPECT_EQ(ReasonFor("mkv_cut.mkv", Uniform(8)), Reason::kVideoTruncated);
  const auto clip = DecodeClip(Bytes("mkv_cut.mkv"), Uniform(8), {.allow_partial = true}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->source.frames, 24);
  EXPECT_THAT(clip->notices, Contains(Field(&Notice::reason, "VIDEO_TRUNCATED")));
}

// libav takes these ends for those of whole files: the cut is seen in the index or in the head.
TEST(DecodeClip, ACutBetweenTwoFramesIsSeenToo) {
  for (const auto& [file, frames] : {std::pair("bug_decord373.mp4", 300),  // of 431 in the index
                                     std::pair("avi_cut_noindex.avi", 31)}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(ReasonFor(file, Uniform(8)), Reason::kVideoTruncated);
    const auto clip = DecodeClip(Bytes(file), Uniform(8), {.allow_partial = true}, Cancel());
    ASSERT_TRUE(clip.ok()) << clip.status();
    EXPECT_EQ(clip->source.frames, frames);
    EXPECT_THAT(clip->notices, Contains(Field(&Notice::reason, "VIDEO_TRUNCATED")));
  }
  // A count in the head is a hint, and an AVI that was written without going back has no size.
  EXPECT_EQ(ReasonFor("avi_lies_431.avi", Uniform(8)), std::nullopt);
  for (const uint8_t filler : {0x00, 0xFF}) {
    std::vector<uint8_t> bytes = Bytes("avi_mpeg4.avi");
    std::fill(bytes.begin() + 4, bytes.begin() + 8, filler);
    EXPECT_TRUE(DecodeClip(bytes, Uniform(8), {}, Cancel()).ok());
  }
}

// The last of the four fragments, of 12 frames each: a moof of 200 bytes from 9108 on, then an mdat
// of 2519, then an index (mfra) that no frame needs.
TEST(DecodeClip, AFragmentedMp4IsCutWhereABoxIs) {
  const std::vector<uint8_t> whole = Bytes("mp4_fragmented.mp4");
  const auto reason = [&](size_t size) {
    const auto bytes = absl::MakeSpan(whole).first(size);
    const auto clip = DecodeClip(bytes, Uniform(4, 32), {.allow_partial = true}, Cancel());
    EXPECT_TRUE(clip.ok()) << size << ": " << clip.status();
    if (clip.ok() && size < 11'827) {
      EXPECT_GE(clip->source.frames, 36) << size;
      EXPECT_EQ(clip->notices.empty(), size == 9108) << size;
    }
    return ReasonOf(DecodeClip(bytes, Uniform(4, 32), {}, Cancel()).status());
  };
  EXPECT_EQ(reason(9108), std::nullopt);           // between two fragments: nobody can know
  for (size_t size = 9113; size < 9324; ++size) {  // from the first letter of "moof" on
    EXPECT_EQ(reason(size), Reason::kVideoTruncated) << size;
  }
  for (const size_t frame : {10'564, 10'678, 10'831, 10'986, 11'117, 11'260, 11'412, 11'716}) {
    EXPECT_EQ(reason(frame), Reason::kVideoTruncated) << "before the frame at " << frame;
  }
  EXPECT_EQ(reason(11'826), Reason::kVideoTruncated);
  for (const size_t size : {11'827, 11'830, 11'900, 11'951}) {
    EXPECT_EQ(reason(size), std::nullopt) << size;
  }
}

TEST(DecodeClip, DamageIsFollowedToTheNextKey) {
  const auto clip =
      DecodeClip(Bytes("mp4_bitflip5.mp4"), Uniform(48), {.allow_partial = true}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->sampled.size(), 48u);
  for (int i = 0; i < 12; ++i) EXPECT_FALSE(clip->sampled[i].corrupt) << i;
  for (int i = 12; i < 24; ++i) EXPECT_TRUE(clip->sampled[i].corrupt) << i;
  EXPECT_FALSE(clip->sampled[24].corrupt) << "a key";
  EXPECT_EQ(ReasonFor("mp4_bitflip5.mp4", Uniform(48)), Reason::kVideoCorrupt);
}

RawFrames Frames(const std::vector<uint8_t>& rgb, int count, int width, int height) {
  return {.count = count, .width = width, .height = height, .rgb = rgb};
}

TEST(ClipFromFrames, TakesTheFramesAsTheyAre) {
  std::vector<uint8_t> rgb(3 * 6 * 4 * 3);
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(i / (6 * 4 * 3) * 50 + 10);
  FrameSpec spec = Uniform(3, 4);
  spec.spatial_views = 3;
  RawFrames frames = Frames(rgb, 3, 6, 4);
  const std::vector<double> offsets = {0.5, 1, 1.5};
  frames.offsets_seconds = offsets;
  const auto clip = ClipFromFrames(frames, spec, {});
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->views.size(), 3u);
  EXPECT_THAT(clip->views[1].pictures, ElementsAre(1, 4, 7));
  EXPECT_EQ(clip->picture(4)[0], 60);
  EXPECT_EQ(clip->sampled[2].seconds, 1.5);
  EXPECT_EQ(clip->windows.size(), 1u);
  EXPECT_EQ(clip->windows[0].start_seconds, 0.5);
  EXPECT_EQ(clip->windows[0].end_seconds, 2);
  EXPECT_EQ(clip->source.duration_seconds, 1.5);
  EXPECT_EQ(clip->source.width, 6);
}

TEST(ClipFromFrames, RefusesWhatDoesNotFit) {
  const std::vector<uint8_t> rgb(2 * 4 * 4 * 3);
  const auto reason = [&](RawFrames frames, int wanted = 2) {
    return ReasonOf(ClipFromFrames(frames, Uniform(wanted, 4), {}).status());
  };
  EXPECT_EQ(reason(Frames(rgb, 2, 4, 4)), std::nullopt);
  EXPECT_EQ(reason(Frames(rgb, 2, 4, 4), 3), Reason::kFieldInvalid);
  EXPECT_EQ(reason(Frames(rgb, 2, 4, 5)), Reason::kFieldInvalid);
  EXPECT_EQ(reason(Frames(rgb, 2, 0, 4)), Reason::kFieldInvalid);
  EXPECT_EQ(reason(Frames(rgb, 2, -4, -4)), Reason::kFieldInvalid);
  EXPECT_EQ(reason(Frames(rgb, 2, 1 << 20, 1 << 20)), Reason::kResolutionLimit);
  RawFrames offsets = Frames(rgb, 2, 4, 4);
  const std::vector<double> three = {0, 1, 2},
                            endless = {0, std::numeric_limits<double>::infinity()};
  offsets.offsets_seconds = three;
  EXPECT_EQ(reason(offsets), Reason::kFieldInvalid);
  offsets.offsets_seconds = endless;
  EXPECT_EQ(reason(offsets), Reason::kFieldInvalid);
  const std::vector<double> falling = {1, 0};
  offsets.offsets_seconds = falling;
  EXPECT_EQ(reason(offsets), Reason::kFieldInvalid);
}

}  // namespace
}  // namespace scanline
