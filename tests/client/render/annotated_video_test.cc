#include "client/render/annotated_video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "tests/client/render/made_clip.h"
#include "tests/client/render/picture.h"
#include "tests/support/corpus.h"

namespace scanline::render {
namespace {

using ::scanline::testing::Distance;
using ::scanline::testing::FileFacts;
using ::scanline::testing::InspectFile;
using ::scanline::testing::MadeClip;
using ::scanline::testing::PixelAt;
using ::scanline::testing::ReadFrames;
using ::scanline::testing::TempFolder;
using ::testing::ElementsAre;

const std::string kClips = SCANLINE_SOURCE_DIR "/tests/data/clips/";
constexpr Color kGrey = {128, 128, 128};
// Of H.264 at half the colour resolution, and of a matrix that the drawing does not know.
constexpr int kTolerance = 30;

// The upright picture's quarters, from the upper left, row by row.
constexpr Color kQuarters[] = {{190, 60, 60}, {60, 190, 60}, {60, 60, 190}, {190, 190, 60}};

Overlay BoxAt(Region region, Color color, double end = 100) {
  Overlay overlay;
  overlay.boxes.push_back({0, end, region, std::nullopt, color, {}});
  return overlay;
}

// A box and the picture are upright and in step, however the picture is stored.
TEST(AnnotatedVideo, TheBoxIsWhereItIsSaidToBeInAllEightOrientationsAndSampleAspects) {
  const TempFolder folder;
  constexpr std::array<std::array<int, 4>, 8> kMatrices = {{{1, 0, 0, 1},
                                                            {-1, 0, 0, 1},
                                                            {1, 0, 0, -1},
                                                            {-1, 0, 0, -1},
                                                            {0, 1, 1, 0},
                                                            {0, 1, -1, 0},
                                                            {0, -1, 1, 0},
                                                            {0, -1, -1, 0}}};
  for (const auto& matrix : kMatrices) {
    for (const int aspect : {1, 2}) {
      SCOPED_TRACE(::testing::PrintToString(matrix) + " " + std::to_string(aspect));
      MadeClip clip;
      clip.width = 160;
      clip.height = 96;
      clip.sample_aspect_num = aspect;
      clip.matrix = matrix;
      clip.times_ms = {0, 40, 80};
      clip.paint = [&](int, int x, int y) {
        const double u = x + 0.5 - 80, v = y + 0.5 - 48;
        const double right = matrix[0] * u + matrix[2] * v, down = matrix[1] * u + matrix[3] * v;
        return kQuarters[(right > 0) + 2 * (down > 0)];
      };
      testing::WriteClip((folder / "in.mp4"), clip);
      const Region region = {0.1, 0.25, 0.4, 0.9};
      const auto video = WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"),
                                             BoxAt(region, PaletteColor(4)));
      ASSERT_TRUE(video.ok()) << video.status();
      const bool turned = matrix[0] == 0;
      const int width = turned ? 96 : 160 * aspect, height = turned ? 160 * aspect : 96;
      EXPECT_EQ(video->width, width);
      EXPECT_EQ(video->height, height);
      EXPECT_EQ(video->frames, 3);
      const FileFacts facts = InspectFile((folder / "out.mp4"));
      EXPECT_EQ(facts.width, width);
      EXPECT_EQ(facts.height, height);
      EXPECT_EQ(facts.sample_aspect_num, 1);

      const TimedFrame picture = ReadFrames((folder / "out.mp4"), {0.04})[0];
      ASSERT_EQ(picture.width, width);
      const auto at = [&](double x, double y, int dx = 0, int dy = 0) {
        return PixelAt(picture, static_cast<int>(std::lround(x * width)) + dx,
                       static_cast<int>(std::lround(y * height)) + dy);
      };
      // One pixel inside of each edge, away from the corners.
      for (const double share : {0.3, 0.5, 0.7}) {
        const double x = region.x0 + share * (region.x1 - region.x0);
        const double y = region.y0 + share * (region.y1 - region.y0);
        EXPECT_LE(Distance(at(x, region.y0, 0, 0), PaletteColor(4)), kTolerance);
        EXPECT_LE(Distance(at(x, region.y1, 0, -1), PaletteColor(4)), kTolerance);
        EXPECT_LE(Distance(at(region.x0, y, 0, 0), PaletteColor(4)), kTolerance);
        EXPECT_LE(Distance(at(region.x1, y, -1, 0), PaletteColor(4)), kTolerance);
      }
      EXPECT_LE(Distance(at(0.25, 0.4), kQuarters[0]), kTolerance);  // inside of the box
      EXPECT_LE(Distance(at(0.05, 0.1), kQuarters[0]), kTolerance);
      EXPECT_LE(Distance(at(0.8, 0.2), kQuarters[1]), kTolerance);
      EXPECT_LE(Distance(at(0.05, 0.8), kQuarters[2]), kTolerance);
      EXPECT_LE(Distance(at(0.8, 0.8), kQuarters[3]), kTolerance);
    }
  }
}

TEST(AnnotatedVideo, IsAnMp4ThatEveryPlayerTakesAndThatStartsWhileItLoads) {
  const TempFolder folder;
  MadeClip clip;
  clip.width = 63;  // odd: made even
  clip.height = 47;
  clip.container = "matroska";
  testing::WriteClip((folder / "in.mkv"), clip);
  const auto video = WriteAnnotatedVideo((folder / "in.mkv"), (folder / "out.mp4"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  const FileFacts facts = InspectFile((folder / "out.mp4"));
  EXPECT_EQ(facts.video_codec, "h264");
  EXPECT_EQ(facts.pixel_format, "yuv420p");
  EXPECT_EQ(facts.width, 64);
  EXPECT_EQ(facts.height, 48);
  EXPECT_EQ(video->video_encoder, "libx264");
  EXPECT_EQ(video->sound, SoundUse::kNone);
  const auto boxes = testing::TopBoxes((folder / "out.mp4"));
  const auto moov = std::find(boxes.begin(), boxes.end(), "moov");
  const auto mdat = std::find(boxes.begin(), boxes.end(), "mdat");
  ASSERT_NE(mdat, boxes.end());
  EXPECT_LT(moov, mdat);
  EXPECT_EQ(folder.files(), 2u) << "nothing but input and output";
}

TEST(AnnotatedVideo, EachPictureKeepsItsTime) {
  const TempFolder folder;
  MadeClip clip;
  clip.times_ms = {500, 600, 610, 1200, 1240, 3000};
  for (const char* container : {"mp4", "matroska"}) {
    SCOPED_TRACE(container);
    clip.container = container;
    testing::WriteClip((folder / "in"), clip);
    ASSERT_TRUE(WriteAnnotatedVideo((folder / "in"), (folder / "out.mp4"), Overlay()).ok());
    const FileFacts facts = InspectFile((folder / "out.mp4"));
    ASSERT_EQ(facts.picture_times.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(facts.picture_times[i], (clip.times_ms[i] - 500) / 1000.0, 1e-4) << i;
    }
  }
}

TEST(AnnotatedVideo, EveryReadableClipKeepsItsFramesAndTimes) {
  const TempFolder folder;
  int clips = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    const auto pts = clip.row.value("pts", nlohmann::json::array());
    if (!clip.ok() || !clip.readable() || clip.frames < 2 || clip.frames > 100) continue;
    const auto size = clip.row.value("size", std::vector<int64_t>{0, 0});
    if (size[0] * size[1] > DecodeLimits{}.max_pixels) continue;
    SCOPED_TRACE(clip.file);
    const auto video = WriteAnnotatedVideo(testing::ClipsFolder() + "/" + clip.file,
                                           (folder / "out.mp4"), Overlay());
    ASSERT_TRUE(video.ok()) << video.status();
    EXPECT_EQ(video->frames, clip.frames);
    const FileFacts facts = InspectFile((folder / "out.mp4"));
    ASSERT_EQ(static_cast<int64_t>(facts.picture_times.size()), clip.frames);
    // Where the container knows the times and they do not fall back.
    bool known = static_cast<int64_t>(pts.size()) == clip.frames;
    for (size_t i = 0; known && i < pts.size(); ++i) {
      known = pts[i].is_number() && (i == 0 || pts[i].get<double>() > pts[i - 1].get<double>());
    }
    for (size_t i = 0; known && i < pts.size(); ++i) {
      EXPECT_NEAR(facts.picture_times[i], pts[i].get<double>() - pts[0].get<double>(), 2e-3) << i;
    }
    clips += known;
  }
  EXPECT_GT(clips, 0);
}

TEST(AnnotatedVideo, WhatIsDrawnComesAndGoesWithItsFrame) {
  const TempFolder folder;
  MadeClip clip;
  clip.times_ms = {0, 100, 200, 300, 400};
  clip.paint = [](int, int, int) { return kGrey; };
  testing::WriteClip((folder / "in.mp4"), clip);
  Overlay overlay;
  overlay.boxes.push_back({0.1, 0.3, {0.25, 0.25, 0.75, 0.75}, std::nullopt, {255, 255, 255}, {}});
  ASSERT_TRUE(WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), overlay).ok());
  const auto frames = ReadFrames((folder / "out.mp4"), {0, 0.1, 0.2, 0.3, 0.4});
  std::vector<bool> drawn;
  for (const TimedFrame& frame : frames) drawn.push_back(PixelAt(frame, 32, 12).red > 190);
  EXPECT_THAT(drawn, ElementsAre(false, true, true, false, false));
}

TEST(AnnotatedVideo, LabelsAndCaptionsShow) {
  const TempFolder folder;
  MadeClip clip;
  clip.width = 320;
  clip.height = 240;
  clip.times_ms = {0, 40};
  clip.paint = [](int, int, int) { return Color{0, 0, 0}; };
  testing::WriteClip((folder / "in.mp4"), clip);
  for (const std::string text : {"walk 0.9", "{\\b1}", "\\N", "a\nb", "\xF0\x9F\x99\x82", "שלום"}) {
    SCOPED_TRACE(text);
    Overlay overlay;
    overlay.captions.push_back({0, 1, {text}});
    ASSERT_TRUE(WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), overlay).ok());
    const TimedFrame frame = ReadFrames((folder / "out.mp4"))[0];
    int ink = 0, below = 0;
    for (int y = 0; y < frame.height; ++y) {
      for (int x = 0; x < frame.width; ++x) {
        const bool bright = PixelAt(frame, x, y).green > 120;
        ink += bright && y < 40;
        below += bright && y >= 40;
      }
    }
    EXPECT_GT(ink, 5);
    EXPECT_EQ(below, 0) << "one line, in the corner";
  }
}

TEST(AnnotatedVideo, SoundIsCopiedWhereMp4TakesIt) {
  const TempFolder folder;
  MadeClip clip;
  clip.sound = "aac";
  clip.times_ms.clear();
  for (int i = 0; i < 50; ++i) clip.times_ms.push_back(40 * i);
  testing::WriteClip((folder / "in.mp4"), clip);
  const auto video = WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_EQ(video->sound, SoundUse::kCopied);
  EXPECT_TRUE(video->notices.empty());
  const FileFacts in = InspectFile((folder / "in.mp4"));
  const FileFacts out = InspectFile((folder / "out.mp4"));
  EXPECT_EQ(out.sound_codec, "aac");
  // The packets of before and behind the pictures may go.
  ASSERT_GE(out.sound_hashes.size() + 2, in.sound_hashes.size());
  const auto first = std::find(in.sound_hashes.begin(), in.sound_hashes.end(), out.sound_hashes[0]);
  ASSERT_NE(first, in.sound_hashes.end());
  const size_t skipped = static_cast<size_t>(first - in.sound_hashes.begin());
  for (size_t i = 0; i < out.sound_hashes.size(); ++i) {
    EXPECT_EQ(out.sound_hashes[i], in.sound_hashes[i + skipped]);
    EXPECT_NEAR(out.sound_times[i], in.sound_times[i + skipped], 1e-3);
  }
}

TEST(AnnotatedVideo, OtherSoundIsEncodedAgain) {
  const TempFolder folder;
  MadeClip clip;
  clip.container = "avi";
  clip.sound = "pcm_s16le";
  clip.times_ms.clear();
  for (int i = 0; i < 50; ++i) clip.times_ms.push_back(40 * i);
  testing::WriteClip((folder / "in.avi"), clip);
  const auto video = WriteAnnotatedVideo((folder / "in.avi"), (folder / "out.mp4"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_EQ(video->sound, SoundUse::kTranscoded);
  const FileFacts facts = InspectFile((folder / "out.mp4"));
  EXPECT_EQ(facts.sound_codec, "aac");
  EXPECT_NEAR(facts.sound_times.back(), 2.0, 0.1);
  EXPECT_NEAR(testing::SoundLevel((folder / "out.mp4")), 0.5 / std::sqrt(2), 0.03);
}

TEST(AnnotatedVideo, SoundStaysInStepWithPicturesThatStartLater) {
  const TempFolder folder;
  MadeClip clip;
  clip.container = "matroska";
  clip.sound = "pcm_s16le";
  clip.sound_start_ms = 1500;
  clip.times_ms.clear();
  for (int i = 0; i < 50; ++i) clip.times_ms.push_back(1000 + 40 * i);
  testing::WriteClip((folder / "in.mkv"), clip);
  const auto video = WriteAnnotatedVideo((folder / "in.mkv"), (folder / "out.mp4"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  // Half a second of silence first: a quarter of the whole.
  EXPECT_NEAR(testing::SoundLevel((folder / "out.mp4")), 0.5 / std::sqrt(2) * std::sqrt(0.75),
              0.04);
}

TEST(AnnotatedVideo, WebmHoldsVp9AndOpus) {
  const TempFolder folder;
  MadeClip clip;
  clip.sound = "aac";
  testing::WriteClip((folder / "in.mp4"), clip);
  const auto video = WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.webm"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_EQ(video->sound, SoundUse::kTranscoded);
  const FileFacts facts = InspectFile((folder / "out.webm"));
  EXPECT_EQ(facts.video_codec, "vp9");
  EXPECT_EQ(facts.sound_codec, "opus");
  EXPECT_EQ(facts.picture_times.size(), clip.times_ms.size());
}

TEST(AnnotatedVideo, Vp9StandsInForH264) {
  const TempFolder folder;
  testing::WriteClip((folder / "in.mp4"), MadeClip());
  AnnotateOptions options;
  options.video_encoder = "libvpx-vp9";
  ASSERT_TRUE(
      WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), Overlay(), options).ok());
  EXPECT_EQ(InspectFile((folder / "out.mp4")).video_codec, "vp9");
  options.video_encoder = "no_such_encoder";
  const auto none =
      WriteAnnotatedVideo((folder / "in.mp4"), (folder / "none.mp4"), Overlay(), options);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(folder.files(), 2u);
}

TEST(AnnotatedVideo, ACutInputIsWrittenAsFarAsItGoesAndSaidToBeCut) {
  const TempFolder folder;
  const auto video = WriteAnnotatedVideo(kClips + "mkv_cut.mkv", (folder / "out.mp4"), Overlay());
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_EQ(video->frames, 24);
  ASSERT_EQ(video->notices.size(), 1u);
  EXPECT_EQ(video->notices[0].reason, "VIDEO_TRUNCATED");
}

TEST(AnnotatedVideo, InputThatIsNoVideoLeavesNoFile) {
  const TempFolder folder;
  const auto reason = [&](const std::string& file) {
    return ReasonOf(WriteAnnotatedVideo(kClips + file, (folder / "out.mp4"), Overlay()).status());
  };
  EXPECT_EQ(reason("mp4_moovend_cut.mp4"), Reason::kVideoUnreadable);
  EXPECT_EQ(reason("text.mp4"), Reason::kVideoUnreadable);
  EXPECT_EQ(reason("hls_file.m3u8"), Reason::kVideoUnreadable);
  EXPECT_EQ(reason("wav_audio.wav"), Reason::kNoVideoStream);
  EXPECT_EQ(reason("png_bomb.png"), Reason::kResolutionLimit);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(AnnotatedVideo, AnOldFileStaysUntilTheNewOneIsWhole) {
  const TempFolder folder;
  testing::WriteClip((folder / "in.mp4"), MadeClip());
  std::ofstream((folder / "out.mp4")) << "old";
  const Cancel cancel;
  AnnotateOptions options;
  std::vector<double> shares;
  options.on_progress = [&](double share) {
    shares.push_back(share);
    if (share > 0.5) cancel.RequestCancel();
  };
  const auto stopped =
      WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), Overlay(), options, cancel);
  EXPECT_EQ(ReasonOf(stopped.status()), Reason::kCancelled);
  EXPECT_EQ(testing::ReadBytes((folder / "out.mp4")), (std::vector<uint8_t>{'o', 'l', 'd'}));
  EXPECT_EQ(folder.files(), 2u);
  shares.clear();
  options.on_progress = [&](double share) { shares.push_back(share); };
  ASSERT_TRUE(
      WriteAnnotatedVideo((folder / "in.mp4"), (folder / "out.mp4"), Overlay(), options).ok());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(InspectFile((folder / "out.mp4")).video_codec, "h264");
}

TEST(AnnotatedVideo, NamesAreNamesOnly) {
  const TempFolder folder;
  const std::string name = (folder / "pipe:1 %03d 'x' ,[a]{\\b1}.mp4");
  testing::WriteClip((folder / "in.mp4"), MadeClip());
  ASSERT_TRUE(WriteAnnotatedVideo((folder / "in.mp4"), name, Overlay()).ok());
  EXPECT_TRUE(std::filesystem::exists(name));
  EXPECT_EQ(
      WriteAnnotatedVideo((folder / "in.mp4"), (folder / "no/x.mp4"), Overlay()).status().code(),
      absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace scanline::render
