#include "client/cli/sniff.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace scanline::cli {
namespace {

std::string ClipsDir() {
  const char* other = std::getenv("SCANLINE_CLIPS_DIR");
  return other != nullptr ? other : SCANLINE_SOURCE_DIR "/tests/data/clips";
}

std::string Head(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kSniffBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool IsStill(const std::string& file) { return file == "jpg_still.jpg" || file == "png_still.png"; }

TEST(LooksLikeVideo, KnowsEveryClipThatDecodesAndNothingThatIsNoMedia) {
  std::ifstream stream(ClipsDir() + "/manifest.json");
  ASSERT_TRUE(stream) << "no manifest.json in " << ClipsDir();
  const auto manifest = nlohmann::json::parse(stream);
  int videos = 0;
  int others = 0;
  for (const auto& clip : manifest["clips"]) {
    const std::string file = clip["file"];
    const std::string expect = clip["expect"];
    const std::string head = Head(ClipsDir() + "/" + file);
    if (expect == "ok" || expect == "partial") {
      EXPECT_EQ(LooksLikeVideo(head), !IsStill(file)) << file;
      ++videos;
    }
    // Text in any form: what a folder of videos may also hold.
    if (expect == "error:INVALID_ARGUMENT" && !head.empty() && head[0] >= ' ') {
      EXPECT_FALSE(LooksLikeVideo(head)) << file;
      ++others;
    }
  }
  EXPECT_GT(videos, 0);
  EXPECT_GT(others, 0);
}

TEST(LooksLikeVideo, LeavesOutStillsAndSound) {
  EXPECT_FALSE(LooksLikeVideo(""));
  EXPECT_FALSE(LooksLikeVideo("\xFF\xD8\xFF\xDB"));
  EXPECT_FALSE(
      LooksLikeVideo(std::string("\0\0\0\x1C"
                                 "ftypM4A ",
                                 12)));
  EXPECT_FALSE(
      LooksLikeVideo(std::string("\0\0\0\x1C"
                                 "ftypheic",
                                 12)));
  EXPECT_FALSE(LooksLikeVideo(std::string("RIFF\0\0\0\0WAVE", 12)));
  EXPECT_FALSE(
      LooksLikeVideo(std::string("\x7F"
                                 "ELF\2\1\1\0",
                                 8)));
}

TEST(NamedLikeVideo, GoesByTheEndOfTheName) {
  for (const char* name : {"a.mp4", "A.MP4", "dir/a.b.webm", ".mkv", "x.m2ts"}) {
    EXPECT_TRUE(NamedLikeVideo(name)) << name;
  }
  for (const char* name : {"mp4", "a.mp4.txt", "a.mp4.part", "index.ts", "song.m4a", ""}) {
    EXPECT_FALSE(NamedLikeVideo(name)) << name;
  }
}

}  // namespace
}  // namespace scanline::cli
