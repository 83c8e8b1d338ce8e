#include "client/cli/ava_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::HasSubstr;

TEST(IntervalThrough, MeetsEveryKeyframeAndEverySecond) {
  EXPECT_EQ(IntervalThrough({}).value(), 1000);
  EXPECT_EQ(IntervalThrough({{"a", 902'000}, {"b", 4'000}}).value(), 1000);
  EXPECT_EQ(IntervalThrough({{"a", 2'000}, {"b", 500}}).value(), 500);
  EXPECT_EQ(IntervalThrough({{"a", 400}, {"a", 600}}).value(), 200);
}

TEST(IntervalThrough, IsNotBelowATenthOfASecond) {
  EXPECT_EQ(IntervalThrough({{"a", 300}}).value(), 100);
  EXPECT_THAT(IntervalThrough({{"a", 563}}).status().message(),
              HasSubstr("1 ms apart or whole multiples of it, expected 100 ms or more"));
}

TEST(ClipsByVideo, NamesClipsWithoutTheirEnds) {
  const testing::TempFolder scratch;
  const std::string one = scratch.Write("one.mp4", "");
  const std::string two = scratch.Write("two.v2.mkv", "");
  scratch.Write("notes.txt", "no clip");
  const auto files = ClipsByVideo((scratch / ""));
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 2U);
  EXPECT_TRUE(std::filesystem::equivalent(files->at("one"), one));
  EXPECT_TRUE(std::filesystem::equivalent(files->at("two.v2"), two));
}

TEST(ClipsByVideo, RefusesTwoOfOneNameAndWhatIsNoFolder) {
  const testing::TempFolder scratch;
  const std::string one = scratch.Write("one.mp4", "");
  scratch.Write("one.avi", "");
  EXPECT_THAT(ClipsByVideo((scratch / "")).status().message(),
              HasSubstr("expected one clip of the name one, found "));
  EXPECT_THAT(ClipsByVideo(one).status().message(), HasSubstr("one.mp4 is no folder"));
}

}  // namespace
}  // namespace scanline::cli
