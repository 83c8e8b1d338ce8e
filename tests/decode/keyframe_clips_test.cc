// Keyframes, padded pictures and the places of boxes on clips as they are decoded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/picture_geometry.h"
#include "decode/decode_clip.h"
#include "decode/resize.h"
#include "tests/decode/made_clip.h"
#include "tests/support/corpus.h"

namespace scanline::testing {
namespace {

std::vector<uint8_t> Pedestrians() {
  return ReadBytes(SCANLINE_SOURCE_DIR "/assets/clips/pedestrians_12s.avi");
}

FrameSpec AvaSpec(KeyframeSpec keyframes) {
  FrameSpec spec;
  spec.sampling.rule = SamplingRule::kAva;
  spec.sampling.frames = 16;
  spec.sampling.frame_step = 4;
  spec.sampling.keyframes = std::move(keyframes);
  spec.resize = ResizeRule::kShortSide256Pad16;
  spec.size = 256;
  return spec;
}

TEST(Keyframes, OverlappingViewsAreDecodedOnce) {
  std::map<int64_t, int> shown;
  std::set<int64_t> keyframes;
  const auto clip = DecodeClipWatched(Pedestrians(), AvaSpec({.alone = true, .show = true}), {},
                                      Cancel(), [&](const FullFrame& frame) {
                                        ++shown[frame.index];
                                        if (frame.keyframe) keyframes.insert(frame.index);
                                        EXPECT_EQ(frame.width, 768);
                                        return absl::OkStatus();
                                      });
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->keyframes.size(), 11u);
  ASSERT_EQ(clip->views.size(), 11u);
  std::set<int64_t> wanted;
  size_t looks = 0;
  for (const Keyframe& keyframe : clip->keyframes) {
    wanted.insert(keyframe.frame);
    EXPECT_EQ(keyframes.count(keyframe.frame), 1u);
    EXPECT_EQ(keyframe.width, 768);
    EXPECT_EQ(keyframe.height, 576);
    for (int picture : clip->views[keyframe.view].pictures) {
      wanted.insert(clip->sampled[picture].index);
      ++looks;
    }
  }
  EXPECT_EQ(keyframes.size(), 11u);
  EXPECT_GT(looks, wanted.size());  // They do overlap.
  for (const auto& [index, times] : shown) EXPECT_EQ(times, 1) << index;
  EXPECT_EQ(shown.size(), wanted.size());
  EXPECT_EQ(clip->stats.frames_converted, static_cast<int64_t>(wanted.size()));
  EXPECT_LE(clip->stats.frames_walked, clip->source.frames);
  EXPECT_EQ(clip->pixels.size(), wanted.size() * clip->picture_bytes());
}

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The budget is some times what decoding takes here, under a sanitizer too; the watcher alone takes
// more than twice of it.
TEST(Keyframes, TheWatchersTimeIsNoDecodingTime) {
  const FrameSpec spec = AvaSpec({.alone = true, .show = true});
  const auto unwatched = DecodeClip(Pedestrians(), spec, {}, Cancel());
  ASSERT_TRUE(unwatched.ok()) << unwatched.status();
  DecodeOptions options;
  options.limits.max_cpu_seconds = 0.1 + 3 * unwatched->stats.cpu_seconds;
  double watched = 0;
  const auto clip =
      DecodeClipWatched(Pedestrians(), spec, options, Cancel(), [&](const FullFrame& frame) {
        const double start = ThreadSeconds();
        while (frame.keyframe && ThreadSeconds() - start < options.limits.max_cpu_seconds / 5) {
        }
        watched += ThreadSeconds() - start;
        return absl::OkStatus();
      });
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_GT(watched, 2 * options.limits.max_cpu_seconds);
  EXPECT_LT(clip->stats.cpu_seconds, options.limits.max_cpu_seconds);
}

TEST(PaddedPictures, AreTheResizedFrameAndBlackBorders) {
  const int width = 300, height = 200;  // 256 high, 384 wide; a size that needs padding: 100 x 73
  MadeClip made = {.width = width, .height = height};
  made.draw = [&](int, uint8_t* rgb) {
    for (int i = 0; i < width * height * 3; ++i) rgb[i] = static_cast<uint8_t>(i * 7 % 251);
  };
  const std::string file = WriteMadeClip(made);
  std::vector<uint8_t> stored(static_cast<size_t>(width) * height * 3);
  made.draw(0, stored.data());
  FrameSpec spec = AvaSpec({});
  spec.size = 96;
  const auto clip =
      DecodeClip({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, spec, {}, Cancel());
  ASSERT_TRUE(clip.ok()) << clip.status();
  EXPECT_EQ(clip->valid_width, 144);
  EXPECT_EQ(clip->valid_height, 96);
  EXPECT_EQ(clip->width, 144);
  EXPECT_EQ(clip->height, 96);
  std::vector<uint8_t> want(144 * 96 * 3);
  ResizeLinear({stored.data(), width, height, width * 3}, {144, 96}, {0, 0, 144, 96}, want.data());
  EXPECT_TRUE(std::equal(want.begin(), want.end(), clip->picture(0)));

  spec.size = 80;  // 120 wide, padded to 128
  const auto padded =
      DecodeClip({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, spec, {}, Cancel());
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_EQ(padded->valid_width, 120);
  ASSERT_EQ(padded->width, 128);
  for (int y = 0; y < 80; ++y) {
    for (int x = 120 * 3; x < 128 * 3; ++x) ASSERT_EQ(padded->picture(0)[y * 128 * 3 + x], 0);
  }
}

TEST(PaddedPictures, RefusesAPictureOutOfAllProportion) {
  MadeClip made = {.width = 410, .height = 100};
  made.draw = [](int, uint8_t*) {};
  const std::string file = WriteMadeClip(made);
  const auto clip = DecodeClip({reinterpret_cast<const uint8_t*>(file.data()), file.size()},
                               AvaSpec({}), {}, Cancel());
  EXPECT_EQ(ReasonOf(clip.status()), Reason::kResolutionLimit);
}

TEST(Keyframes, FramesSentAsSuchHaveOne) {
  FrameSpec spec = AvaSpec({.box_frame = 8});
  spec.size = 32;
  const std::vector<uint8_t> rgb(size_t{16} * 48 * 32 * 3, 9);
  std::vector<double> offsets;
  for (int i = 0; i < 16; ++i) offsets.push_back(i * 0.5);
  const RawFrames frames = {16, 48, 32, rgb, offsets};
  const auto clip = ClipFromFrames(frames, spec, {});
  ASSERT_TRUE(clip.ok()) << clip.status();
  ASSERT_EQ(clip->keyframes.size(), 1u);
  EXPECT_EQ(clip->keyframes[0].frame, 8);
  EXPECT_EQ(clip->keyframes[0].seconds, 4);
  EXPECT_EQ(clip->keyframes[0].width, 48);
  EXPECT_EQ(clip->width, 48);
  spec.sampling.keyframes->seconds = {1, 2};
  EXPECT_EQ(ReasonOf(ClipFromFrames(frames, spec, {}).status()), Reason::kFieldInvalid);
}

// Frames from 10 s to 18 s, of which the one at 14 s has the boxes.
TEST(Keyframes, ABoxesTimeIsThatOfItsFrameAmongFramesSentAsSuch) {
  FrameSpec spec = AvaSpec({.box_frame = 8});
  spec.size = 32;
  const std::vector<uint8_t> rgb(size_t{16} * 48 * 32 * 3, 9);
  std::vector<double> offsets;
  for (int i = 0; i < 16; ++i) offsets.push_back(10 + i * 0.5);
  RawFrames frames = {16, 48, 32, rgb, offsets};
  const auto at = [&](double seconds) {
    spec.sampling.keyframes->seconds = {seconds};
    return ClipFromFrames(frames, spec, {});
  };
  for (double seconds : {14.0, 13.8, 14.2}) {
    const auto clip = at(seconds);
    ASSERT_TRUE(clip.ok()) << clip.status();
    EXPECT_EQ(clip->keyframes[0].seconds, seconds);
    EXPECT_EQ(clip->keyframes[0].frame, 8);
    EXPECT_EQ(clip->source.duration_seconds, 8);
  }
  for (double seconds : {0.0, 4.0, 9.9, 18.1, 999.0}) {
    EXPECT_EQ(ReasonOf(at(seconds).status()), Reason::kSegmentOutOfRange) << seconds;
  }
  for (double seconds : {10.0, 13.5, 14.5, 17.9, 18.0}) {
    EXPECT_EQ(ReasonOf(at(seconds).status()), Reason::kFieldInvalid) << seconds;
  }
  // Several frames of one time are that time.
  const std::vector<double> still(16, 3.0);
  frames.offsets_seconds = still;
  EXPECT_TRUE(at(3).ok());
  EXPECT_EQ(ReasonOf(at(3.1).status()), Reason::kSegmentOutOfRange);
  frames.offsets_seconds = {};
  ASSERT_TRUE(at(902).ok());
  EXPECT_EQ(at(902)->keyframes[0].seconds, 902);
}

// Where a box that is stored at `box` (in [0, 1]) stands once the picture is turned for display.
Box Turned(const std::array<int, 4>& turn, const Box& box) {
  const auto [a, b, c, d] = turn;
  const auto x = [&](double u, double v) { return a * (u - 0.5) + c * (v - 0.5) + 0.5; };
  const auto y = [&](double u, double v) { return b * (u - 0.5) + d * (v - 0.5) + 0.5; };
  const double x0 = x(box.x_min, box.y_min), x1 = x(box.x_max, box.y_max);
  const double y0 = y(box.x_min, box.y_min), y1 = y(box.x_max, box.y_max);
  return {std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)};
}

// The bright area of a picture, to a part of a pixel by the brightness at its borders.
Box FindBright(const Clip& clip, const uint8_t* rgb) {
  std::vector<double> columns(clip.width), rows(clip.height);
  for (int y = 0; y < clip.height; ++y) {
    for (int x = 0; x < clip.width; ++x) {
      const double light = rgb[(static_cast<size_t>(y) * clip.width + x) * 3] / 255.0;
      columns[x] = std::max(columns[x], light);
      rows[y] = std::max(rows[y], light);
    }
  }
  const auto range = [](const std::vector<double>& light, double* low, double* high) {
    size_t first = 0, last = light.size() - 1;
    while (first < last && light[first] < 0.02) ++first;
    while (last > first && light[last] < 0.02) --last;
    *low = static_cast<double>(first) + 1 - light[first];
    *high = static_cast<double>(last) + light[last];
  };
  Box box;
  range(columns, &box.x_min, &box.x_max);
  range(rows, &box.y_min, &box.y_max);
  return box;
}

TEST(BoxPlaces, ComeBackInEveryOrientationAspectAndResizeRule) {
  const std::array<int, 4> turns[] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {1, 0, 0, -1}, {-1, 0, 0, -1},
                                      {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}};
  const std::array<int, 2> aspects[] = {{1, 1}, {16, 11}, {3, 4}};
  const int width = 320, height = 240;
  // In the middle of both axes, so that every crop shows it, but not symmetrical.
  const Box stored = {130.0 / width, 84.0 / height, 196.0 / width, 124.0 / height};
  int checked = 0;
  for (const auto& turn : turns) {
    for (const auto& aspect : aspects) {
      MadeClip made = {.width = width, .height = height, .sample_aspect = aspect, .turn = turn};
      made.draw = [&](int, uint8_t* rgb) {
        for (int y = 84; y < 124; ++y) {
          std::fill(rgb + (y * width + 130) * 3, rgb + (y * width + 196) * 3, uint8_t{255});
        }
      };
      const std::string file = WriteMadeClip(made);
      for (const ResizeRule rule :
           {ResizeRule::kShortSideBilinear, ResizeRule::kSquareBicubic,
            ResizeRule::kShortSide256Pad16, ResizeRule::kCentreSquareArea}) {
        for (const bool apply_aspect : {false, true}) {
          FrameSpec spec = AvaSpec({});
          spec.resize = rule;
          spec.size = 224;
          spec.apply_sample_aspect = apply_aspect;
          const auto clip = DecodeClip({reinterpret_cast<const uint8_t*>(file.data()), file.size()},
                                       spec, {}, Cancel());
          ASSERT_TRUE(clip.ok()) << clip.status();
          const Keyframe& keyframe = clip->keyframes.at(0);
          const PictureGeometry geometry = GeometryOf(spec, keyframe.width, keyframe.height);
          ASSERT_EQ(geometry.width, clip->width);
          ASSERT_EQ(geometry.height, clip->height);
          const Box back = ToFrame(geometry, FindBright(*clip, clip->picture(0)));
          const Box want = Turned(turn, stored);
          SCOPED_TRACE(::testing::Message()
                       << "turn " << turn[0] << turn[1] << turn[2] << turn[3] << " aspect "
                       << aspect[0] << ":" << aspect[1] << " rule " << static_cast<int>(rule)
                       << (apply_aspect ? " applied" : ""));
          EXPECT_NEAR(back.x_min, want.x_min, 0.01);
          EXPECT_NEAR(back.y_min, want.y_min, 0.01);
          EXPECT_NEAR(back.x_max, want.x_max, 0.01);
          EXPECT_NEAR(back.y_max, want.y_max, 0.01);
          ++checked;
        }
      }
    }
  }
  EXPECT_EQ(checked, 8 * 3 * 4 * 2);
}

}  // namespace
}  // namespace scanline::testing
