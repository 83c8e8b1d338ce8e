// Leaving packets out changes nothing: what an exact index gives is what decoding everything gives.

#include "decode/video_reader.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "decode/sampling_plan.h"
#include "tests/support/corpus.h"

extern "C" {
#include <libavutil/imgutils.h>
}

namespace scanline {
namespace {

// FNV-1a of the planes as they came out of the decoder.
uint64_t HashOf(const AVFrame& frame) {
  std::vector<uint8_t> packed(av_image_get_buffer_size(static_cast<AVPixelFormat>(frame.format),
                                                       frame.width, frame.height, 1));
  av_image_copy_to_buffer(packed.data(), static_cast<int>(packed.size()), frame.data,
                          frame.linesize, static_cast<AVPixelFormat>(frame.format), frame.width,
                          frame.height, 1);
  uint64_t hash = 0xcbf29ce484222325;
  for (uint8_t byte : packed) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

struct Walked {
  std::map<int64_t, uint64_t> hashes;
  int64_t frames = 0;
  bool exact = false;
  DecodeStats stats;
};

Walked Walk(const std::vector<uint8_t>& bytes, const std::vector<int64_t>& wanted, bool use_index,
            int64_t max_kept_bytes = VideoReader::kMaxKeptBytes) {
  Walked walked;
  MemoryInput input(bytes);
  auto reader = VideoReader::Open(input, {}, Cancel(), max_kept_bytes);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return walked;
  if (!use_index) (*reader)->ForgetIndex();
  for (int i = 0; i < 2; ++i) {
    walked.exact = (*reader)->timeline_is_final();
    walked.hashes.clear();
    const auto complete = (*reader)->Walk(wanted, [&](const WantedFrame& frame) {
      walked.hashes[frame.index] = HashOf(*frame.frame);
      return absl::OkStatus();
    });
    EXPECT_TRUE(complete.ok()) << complete.status();
    if (!complete.ok() || *complete) break;
  }
  walked.frames = (*reader)->timeline().frames();
  walked.stats = (*reader)->stats();
  return walked;
}

std::vector<std::string> GoodFiles() {
  std::vector<std::string> files;
  for (const auto& clip : testing::ReadCorpus()) {
    const auto size = clip.row.value("size", std::vector<int64_t>{0, 0});
    const bool over_limit = size[0] * size[1] > DecodeLimits{}.max_pixels;
    if (clip.ok() && !over_limit) files.push_back(testing::ClipsFolder() + "/" + clip.file);
  }
  const std::string real = testing::ClipsFolder() + "/real";
  if (std::filesystem::exists(real)) {
    for (const auto& entry : std::filesystem::directory_iterator(real))
      files.push_back(entry.path());
  }
  return files;
}

TEST(VideoReader, AnExactIndexGivesWhatDecodingEverythingGives) {
  int exact = 0, others = 0;
  int64_t skipped = 0, seeks = 0;
  for (const std::string& file : GoodFiles()) {
    SCOPED_TRACE(file);
    const std::vector<uint8_t> bytes = testing::ReadBytes(file);
    const Walked all = Walk(bytes, {}, /*use_index=*/false);
    ASSERT_GT(all.frames, 0);
    // Few frames, so that much may be left out; the first and the last among them.
    std::vector<int64_t> wanted = {0, all.frames / 2, all.frames * 2 / 3, all.frames - 1};
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const Walked full = Walk(bytes, wanted, /*use_index=*/false);
    const Walked planned = Walk(bytes, wanted, /*use_index=*/true);
    EXPECT_EQ(full.hashes.size(), wanted.size());
    EXPECT_EQ(planned.hashes, full.hashes);
    EXPECT_EQ(planned.frames, full.frames);
    skipped += planned.stats.frames_skipped;
    seeks += planned.stats.seeks;
    ++(planned.exact ? exact : others);
  }
  std::printf("%d files with an exact index, %d without; %ld packets left out, %ld jumps\n", exact,
              others, static_cast<long>(skipped), static_cast<long>(seeks));
  if (std::getenv("SCANLINE_CLIPS_DIR") != nullptr) return;
  EXPECT_GT(exact, others) << "most files of this corpus allow it";
  EXPECT_GT(seeks, 0);
}

TEST(VideoReader, ALargeFileIsReadAgainWithTheSameFrames) {
  for (const char* file : {"mp4_h264_b3.mp4", "ts_h264.ts", "avi_mpeg4.avi", "webm_vp9.webm"}) {
    SCOPED_TRACE(file);
    const auto bytes =
        testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/" + std::string(file));
    const std::vector<int64_t> wanted = {0, 20, 47};
    const Walked kept = Walk(bytes, wanted, /*use_index=*/true);
    const Walked again = Walk(bytes, wanted, /*use_index=*/true, /*max_kept_bytes=*/0);
    EXPECT_EQ(again.hashes, kept.hashes);
    EXPECT_EQ(again.hashes.size(), 3u);
    EXPECT_EQ(again.frames, kept.frames);
  }
}

TEST(VideoReader, LeavesOutPicturesThatNothingRefersTo) {
  const auto bytes = testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/mp4_h264_b3.mp4");
  const Walked walked = Walk(bytes, UniformIndices(48, 8), /*use_index=*/true);
  EXPECT_EQ(walked.hashes.size(), 8u);
  EXPECT_EQ(walked.frames, 48);
  EXPECT_GT(walked.stats.frames_skipped, 12);
}

// Also where the first frames have no time of their own, as in mkv_negative_ts.mkv.
TEST(VideoReader, SaysWhenItsTimelineBeginsByTheContainersClock) {
  int clips = 0, late = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.row.contains("pts") || clip.row.at("pts").empty()) continue;
    SCOPED_TRACE(clip.file);
    const std::vector<uint8_t> bytes = clip.bytes();
    MemoryInput input(bytes);
    DecodeLimits limits;
    limits.max_pixels = int64_t{1} << 27;
    const auto reader = VideoReader::Open(input, limits, Cancel());
    ASSERT_TRUE(reader.ok()) << reader.status();
    (*reader)->ForgetIndex();
    const auto walked = (*reader)->Walk({}, [](const WantedFrame&) { return absl::OkStatus(); });
    ASSERT_TRUE(walked.ok()) << walked.status();
    const auto& listed = clip.row.at("pts");
    const auto first = std::find_if(listed.begin(), listed.end(),
                                    [](const auto& stamp) { return !stamp.is_null(); });
    ASSERT_EQ((*reader)->origin_seconds().has_value(), first != listed.end());
    if (first == listed.end()) continue;
    const auto index = first - listed.begin();
    EXPECT_NEAR(*(*reader)->origin_seconds() + (*reader)->timeline().start.at(index),
                first->get<double>(), 2e-6);
    ++clips;
    late += index > 0;
  }
  EXPECT_GT(clips, 0);
  EXPECT_GT(late, 0);
}

}  // namespace
}  // namespace scanline
