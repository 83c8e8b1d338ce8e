#include "model/text/caption_cleanup.h"

#include <gtest/gtest.h>

#include <string>

namespace scanline {
namespace {

std::string CleanUp(const std::string& text) {
  return EncodeUtf8(CleanUpCaption(DecodeUtf8(text).value()));
}

TEST(CleanUpCaption, TakesOutWhatTheOfficialEvaluationTakesOut) {
  EXPECT_EQ(CleanUp("A man, a PLAN: (a) canal!? \"Panama\" ~ #1; it's *here*."),
            "a man a plan a canal panama 1 its here");
}

TEST(CleanUpCaption, DashesAndSlashesSeparate) {
  EXPECT_EQ(CleanUp("black-and-white and/or colour"), "black and white and or colour");
}

TEST(CleanUpCaption, PersonLosesItsBrackets) {
  EXPECT_EQ(CleanUp("<PERSON> meets <person>s and <persons>"),
            "person meets persons and <persons>");
}

TEST(CleanUpCaption, CollapsesRunsOfWhiteSpaceOnly) {
  EXPECT_EQ(CleanUp("  a \t b\tc \xC2\xA0 d  \n"), "a b\tc d");
}

TEST(CleanUpCaption, CanLeaveNothing) {
  for (const char* text : {"", " ", "...", "-/-", "\n"}) EXPECT_EQ(CleanUp(text), "") << text;
}

TEST(CleanUpCaption, LowersAsPythonDoes) {
  EXPECT_EQ(CleanUp("\xC4\xB0STANBUL \xC3\x89T\xC3\x89"), "i\xCC\x87stanbul \xC3\xA9t\xC3\xA9");
  // Capital sigmas: within a word, at its end, alone.
  EXPECT_EQ(CleanUp("\xCE\xA3\xCE\x9F\xCE\xA3 \xCE\xA3"), "\xCF\x83\xCE\xBF\xCF\x82 \xCF\x83");
}

}  // namespace
}  // namespace scanline
