#include "client/cli/ava_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ParseAvaTruth, ReadsTheDatasetsRows) {
  const auto truths = ParseAvaTruth(
      "1j20qq1JyX4,0902,0.002,0.118,0.714,0.977,12,1\r\n"
      "1j20qq1JyX4,0903,0.002,0.118,0.714,0.977,79\n"
      "1j20qq1JyX4,0904,,,,,\n"
      "1j20qq1JyX4,0905\n",
      "train.csv");
  ASSERT_TRUE(truths.ok()) << truths.status();
  ASSERT_EQ(truths->size(), 2);
  const AvaAction& first = truths->front();
  EXPECT_THAT(first.frame, Pair("1j20qq1JyX4", 902'000));
  EXPECT_EQ(first.x_min, 0.002);
  EXPECT_EQ(first.y_min, 0.118);
  EXPECT_EQ(first.x_max, 0.714);
  EXPECT_EQ(first.y_max, 0.977);
  EXPECT_EQ(first.action, 12);
  EXPECT_EQ(truths->back().action, 79);
}

TEST(ParseAvaFindings, ReadsScoresAndPartsOfSeconds) {
  const auto findings = ParseAvaFindings("\"a,b\",1.5,0,0,1,1,3,0.25\n", "mine.csv");
  ASSERT_TRUE(findings.ok()) << findings.status();
  EXPECT_THAT(findings->front().frame, Pair("a,b", 1500));
  EXPECT_EQ(findings->front().score, 0.25);
}

TEST(ParseAvaExclusions, AreKeyframes) {
  const auto excluded = ParseAvaExclusions("a,0902\nb,1\na,902\n", "excluded.csv");
  ASSERT_TRUE(excluded.ok()) << excluded.status();
  EXPECT_THAT(*excluded, ElementsAre(Pair("a", 902'000), Pair("b", 1000)));
  EXPECT_THAT(*ParseAvaExclusions("", "excluded.csv"), IsEmpty());
}

TEST(AvaCsv, MovesWhatIsJustOutsideOfThePictureToItsEdge) {
  const auto truths = ParseAvaTruth("a,1,-0.001,-0.01,1.0004,1.01,1\n", "t.csv");
  ASSERT_TRUE(truths.ok()) << truths.status();
  EXPECT_EQ(truths->front().x_min, 0);
  EXPECT_EQ(truths->front().y_min, 0);
  EXPECT_EQ(truths->front().x_max, 1);
  EXPECT_EQ(truths->front().y_max, 1);
  const auto findings = ParseAvaFindings("a,1,-0.001,0,1.0004,0,1,0.5\n", "f.csv");
  ASSERT_TRUE(findings.ok()) << findings.status() << ", and one of no size may be found";
  EXPECT_EQ(findings->front().x_min, 0);
  EXPECT_EQ(findings->front().x_max, 1);
}

TEST(AvaCsv, RefusesPixelsAndTrueBoxesOfNoSize) {
  const auto message = [](const auto& parsed) { return std::string(parsed.status().message()); };
  constexpr char kSides[] = ": expected a number from 0 to 1 (of the picture, no pixels), found ";
  EXPECT_EQ(message(ParseAvaTruth("a,1,0,0,1,1,1\na,1,12,5,200,96,1\n", "t.csv")),
            absl::StrCat("t.csv, line 2: x_min", kSides, "\"12\""));
  EXPECT_EQ(message(ParseAvaFindings("a,1,0,-0.011,1,1,1,0.5\n", "f.csv")),
            absl::StrCat("f.csv, line 1: y_min", kSides, "\"-0.011\""));
  EXPECT_EQ(message(ParseAvaTruth("a,1,0.2,0,0.2,1,1\n", "t.csv")),
            "t.csv, line 1: x_max: expected more than x_min, which is 0.2, found \"0.2\"");
  EXPECT_THAT(message(ParseAvaTruth("a,1,0,1.001,1,1.004,1\n", "t.csv")),
              HasSubstr("y_max: expected more than y_min"));
  EXPECT_THAT(message(ParseAvaTruth("a,1,0.5,0,0.500000001,1,1\n", "t.csv")),
              HasSubstr("x_max: expected more than x_min"))
      << "it has no size in single precision";
}

TEST(AvaCsv, SkipsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(ParseAvaTruth(mark + "a,1,0,0,1,1,1\n", "t.csv")->front().frame.first, "a");
  EXPECT_EQ(ParseAvaFindings(mark + "a,1,0,0,1,1,1,1\n", "f.csv")->front().frame.first, "a");
  EXPECT_THAT(*ParseAvaExclusions(mark + "a,1\n", "e.csv"), ElementsAre(Pair("a", 1000)));
}

TEST(AvaCsv, ErrorsNameFileLineAndField) {
  const auto message = [](const auto& parsed) { return std::string(parsed.status().message()); };
  EXPECT_THAT(message(ParseAvaTruth("a,1,0,0,1,1,1\na,1,0,zero,1,1,1\n", "t.csv")),
              HasSubstr("t.csv, line 2: y_min: expected a number, found \"zero\""));
  EXPECT_THAT(message(ParseAvaTruth("a,1,0,0,nan,1,1\n", "t.csv")), HasSubstr("x_max"));
  EXPECT_THAT(message(ParseAvaTruth("a,1,0,0,1,1,run\n", "t.csv")), HasSubstr("action"));
  EXPECT_THAT(message(ParseAvaTruth(",1,0,0,1,1,1\n", "t.csv")), HasSubstr("video"));
  EXPECT_THAT(message(ParseAvaTruth("a,1e300,0,0,1,1,1\n", "t.csv")), HasSubstr("seconds"));
  EXPECT_THAT(message(ParseAvaTruth("a,1,0\n", "t.csv")), HasSubstr("found 3 fields"));
  EXPECT_THAT(message(ParseAvaFindings("a,1,0,0,1,1,1\n", "f.csv")), HasSubstr("action,score"));
  EXPECT_THAT(message(ParseAvaFindings("a,1,0,0,1,1,1,high\n", "f.csv")), HasSubstr("score"));
  EXPECT_EQ(message(ParseAvaTruth("a,1,0,0,1,1,1\na,1,0.9,0,0.1,1,1\n", "t.csv")),
            "t.csv, line 2: x_max: expected no less than x_min, which is 0.9, found \"0.1\"");
  EXPECT_THAT(message(ParseAvaFindings("a,1,0,0.5,1,0.25,1,0.5\n", "f.csv")), HasSubstr("y_max"));
  EXPECT_EQ(message(ParseAvaFindings("a,1,0,0,1,1,1,0.5\na,1,0,0,1,1,1,5\n", "f.csv")),
            "f.csv, line 2: score: expected a number from 0 to 1, found \"5\"");
  EXPECT_THAT(message(ParseAvaFindings("a,1,0,0,1,1,1,-0.1\n", "f.csv")), HasSubstr("score"));
  EXPECT_THAT(message(ParseAvaTruth("a,-1,0,0,1,1,1\n", "t.csv")),
              HasSubstr("seconds: expected 0 or more"));
  EXPECT_THAT(message(ParseAvaExclusions("a\n", "e.csv")), HasSubstr("video,seconds"));
  EXPECT_THAT(message(ParseAvaExclusions("\"a,1\n", "e.csv")), HasSubstr("e.csv, "));
}

}  // namespace
}  // namespace scanline::cli
