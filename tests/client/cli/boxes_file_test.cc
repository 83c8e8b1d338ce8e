#include "client/cli/boxes_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

using ::testing::HasSubstr;

std::string Refused(const std::string& text) {
  const auto boxes = ParseBoxes(text, "b.csv");
  if (boxes.ok()) return "accepted";
  EXPECT_TRUE(absl::IsInvalidArgument(boxes.status()));
  return std::string(boxes.status().message());
}

TEST(ParseBoxes, TakesRowsWithAndWithoutTimes) {
  const auto timed = ParseBoxes("time,x1,y1,x2,y2\r\n1.5,0,0.25,0.5,1\r\n\r\n2,0,0,1,1\r\n", "b");
  ASSERT_TRUE(timed.ok()) << timed.status();
  ASSERT_EQ(timed->size(), 2U);
  EXPECT_EQ((*timed)[0].time_offset().seconds(), 1);
  EXPECT_EQ((*timed)[0].time_offset().nanos(), 500'000'000);
  EXPECT_EQ((*timed)[0].y_min(), 0.25F);
  EXPECT_EQ((*timed)[0].x_max(), 0.5F);
  const auto timeless = ParseBoxes("\xEF\xBB\xBF,0.1,0.2,0.3,0.4", "b");
  ASSERT_TRUE(timeless.ok()) << timeless.status();
  EXPECT_FALSE((*timeless)[0].has_time_offset());
}

TEST(ParseBoxes, RefusesHostileRowsByTheirLine) {
  const std::string good = "0,0.1,0.1,0.9,0.9\n";
  EXPECT_EQ(Refused(good + "1,nan,0,1,1\n"),
            "b.csv, line 2: x1: expected a number from 0 to 1 (of the picture), found \"nan\"");
  EXPECT_EQ(Refused(good + "1,0.9,0,0.1,1\n"),
            "b.csv, line 2: x2: expected more than x1, which is 0.9, found \"0.1\"");
  EXPECT_THAT(Refused(good + good + "1,0,0.5,1,0.5\n"), HasSubstr("line 3: y2: expected more"));
  EXPECT_THAT(Refused("0,0,0,inf,1\n"), HasSubstr("line 1: x2: expected a number from 0 to 1"));
  EXPECT_THAT(Refused("0,-0.1,0,1,1\n"), HasSubstr("line 1: x1"));
  EXPECT_THAT(Refused("0,0,0,100,200\n"), HasSubstr("line 1: x2"));
  // Not the same once they are floats.
  EXPECT_THAT(Refused("0,0.3,0,0.30000000001,1\n"), HasSubstr("line 1: x2"));
  EXPECT_THAT(Refused("-1,0,0,1,1\n"), HasSubstr("line 1: time: expected seconds, 0 or more"));
  EXPECT_THAT(Refused("nan,0,0,1,1\n"), HasSubstr("line 1: time"));
  EXPECT_THAT(Refused("1e300,0,0,1,1\n"), HasSubstr("line 1: time"));
  EXPECT_THAT(Refused("0,0,0,1\n"), HasSubstr("line 1: expected time,x1,y1,x2,y2, found 4 fields"));
  EXPECT_THAT(Refused("0,a,0,1,1\n"), HasSubstr("line 1: x1"));
  EXPECT_THAT(Refused(good + ",0,0,1,1\n"), HasSubstr("line 2: time: expected seconds, as in"));
  EXPECT_THAT(Refused(",0,0,1,1\n2,0,0,1,1\n"), HasSubstr("line 2: time: expected none in any"));
  EXPECT_THAT(Refused("0,\"0,0,1,1\n"), HasSubstr("line 1: a quote is not closed"));
  EXPECT_THAT(Refused(""), HasSubstr("b.csv has no box"));
  EXPECT_THAT(Refused("time,x1,y1,x2,y2\n"), HasSubstr("has no box"));
}

}  // namespace
}  // namespace scanline::cli
