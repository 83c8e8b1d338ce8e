#include "client/render/frames_at.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/client/render/made_clip.h"
#include "tests/client/render/picture.h"
#include "tests/support/corpus.h"
#include "tests/support/pattern.h"

namespace scanline::render {
namespace {

const std::string kClips = SCANLINE_SOURCE_DIR "/tests/data/clips/";

// The frames on screen, whatever the container: the numbers drawn in them tell.
TEST(FramesAt, GivesTheFramesOnScreenOfEveryReadableClip) {
  int clips = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.readable() || clip.frames < 3) continue;
    SCOPED_TRACE(clip.file);
    FramesAtOptions options;
    options.limits.max_pixels = 1 << 27;
    const std::string path = testing::ClipsFolder() + "/" + clip.file;
    const auto frames = FramesAt(path, {1e9, -5}, options);
    ASSERT_TRUE(frames.ok()) << frames.status();
    ASSERT_EQ(frames->size(), 2u);
    const int64_t want[] = {clip.ids.back(), clip.ids.front()};
    for (int i = 0; i < 2; ++i) {
      const TimedFrame& frame = (*frames)[i];
      EXPECT_LE(std::max(frame.width, frame.height), 320);
      const auto pattern = testing::ReadPattern(frame.rgb.data(), frame.width, frame.height,
                                                int64_t{frame.width} * 3);
      EXPECT_TRUE(pattern.ok);
      EXPECT_EQ(pattern.number, want[i]) << i;
    }
    ++clips;
  }
  EXPECT_GT(clips, 0);
}

TEST(FramesAt, KeepsTheOrderAskedForAndTellsTheTimes) {
  const testing::TempFolder folder;
  testing::MadeClip clip;
  clip.times_ms = {0, 100, 150, 700, 710};
  clip.paint = [](int frame, int, int) { return Color{static_cast<uint8_t>(50 * frame), 0, 0}; };
  testing::WriteClip((folder / "a.mp4"), clip);
  const auto frames = FramesAt((folder / "a.mp4"), {0.71, 0.12, 0.12, 0.699});
  ASSERT_TRUE(frames.ok()) << frames.status();
  const int64_t indices[] = {4, 1, 1, 2};
  const double seconds[] = {0.71, 0.1, 0.1, 0.15};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ((*frames)[i].index, indices[i]);
    EXPECT_NEAR((*frames)[i].seconds, seconds[i], 1e-6);
    EXPECT_NEAR(testing::PixelAt((*frames)[i], 5, 5).red, 50 * indices[i], 8);
  }
}

TEST(FramesAt, TakesTheNearestWhereThatIsAskedFor) {
  FramesAtOptions nearest;
  nearest.pick = FramePick::kNearest;
  const auto frames = FramesAt(kClips + "mp4_fps_low.mp4", {4, 6, 79}, nearest);
  ASSERT_TRUE(frames.ok()) << frames.status();
  EXPECT_EQ((*frames)[0].index, 0);
  EXPECT_EQ((*frames)[1].index, 1);
  EXPECT_EQ((*frames)[2].index, 7);
}

TEST(TimelineAt, HasEveryFrameOfEveryReadableClip) {
  int clips = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.readable()) continue;
    SCOPED_TRACE(clip.file);
    const auto timeline =
        TimelineAt(testing::ClipsFolder() + "/" + clip.file, {.max_pixels = 1 << 27});
    ASSERT_TRUE(timeline.ok()) << timeline.status();
    EXPECT_EQ(timeline->frames(), static_cast<int64_t>(clip.ids.size()));
    ++clips;
  }
  EXPECT_GT(clips, 0);
}

TEST(FramesAt, NoTimesGiveNoFrames) {
  const auto frames = FramesAt(kClips + "mp4_h264_b3.mp4", {});
  ASSERT_TRUE(frames.ok());
  EXPECT_TRUE(frames->empty());
}

TEST(FramesAt, ErrorsAreTyped) {
  EXPECT_EQ(FramesAt("/no/such/file", {0}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FramesAt("/", {0}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto text = FramesAt(kClips + "text.mp4", {0});
  EXPECT_EQ(ReasonOf(text.status()), Reason::kVideoUnreadable);
  const Cancel cancel;
  cancel.RequestCancel();
  const auto stopped = FramesAt(kClips + "mp4_h264_b3.mp4", {0}, {}, cancel);
  EXPECT_EQ(ReasonOf(stopped.status()), Reason::kCancelled);
}

}  // namespace
}  // namespace scanline::render
