#include "client/render/text_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace scanline::render {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SafeText, KeepsWhatCanBeShown) {
  EXPECT_EQ(SafeText("walk {\\b1} 0.9, <b>"), "walk {\\b1} 0.9, <b>");
  EXPECT_EQ(SafeText("日本 \xF0\x9F\x99\x82 שלום"), "日本 \xF0\x9F\x99\x82 שלום");
}

TEST(SafeText, MakesOneLineOfMany) { EXPECT_EQ(SafeText("a\r\nb\tc\x7F"), "a  b c "); }

TEST(SafeText, LineSeparatorsOfUnicodeAreBreaksToo) {
  EXPECT_EQ(SafeText("a\xE2\x80\xA8"
                     "b\xE2\x80\xA9"
                     "c\xC2\x85"
                     "d"),
            "a b c d");
}

TEST(SafeText, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(SafeText("a\xFF"
                     "b\xC3"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(SafeText, TakesAwayMarksThatTurnTheDirection) {
  // "fdp<RLO>4pm.exe" would show as another kind of file.
  EXPECT_EQ(SafeText("a\xE2\x80\xAE"
                     "b\xE2\x81\xA6"
                     "c\xEF\xBB\xBF"),
            "abc");
}

TEST(SafeText, KeepsJoinersOfEmoji) {
  const std::string family = "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7";
  EXPECT_EQ(SafeText(family), family);
}

TEST(FitText, LeavesWhatFits) {
  const std::string text = "clip.mp4";
  EXPECT_EQ(FitText(text, 20, TextWidth(text, 20), Cut::kMiddle), text);
  EXPECT_NE(FitText(text, 20, TextWidth(text, 20) - 1, Cut::kMiddle), text);
}

TEST(FitText, NeverPassesTheWidth) {
  for (const std::string& text :
       {std::string(500, 'W'), std::string(500, 'i'), std::string("日本語日本語日本語日本語日本語"),
        std::string("a/b c/holiday_2024_0001 (2).mp4"), std::string("e\u0301e\u0301e\u0301")}) {
    for (double width = 0; width < 300; width += 7) {
      for (const Cut cut : {Cut::kEnd, Cut::kMiddle}) {
        EXPECT_LE(TextWidth(FitText(text, 17, width, cut), 17), width) << text << " " << width;
      }
    }
  }
}

TEST(FitText, CutsInTheMiddleSoThatTheEndOfANameStays) {
  const std::string fitted =
      FitText("/archive/2024/summer/holiday_0001.mp4", 20, 200, Cut::kMiddle);
  EXPECT_THAT(fitted, StartsWith("/archi"));
  EXPECT_THAT(fitted, HasSubstr("…"));
  EXPECT_THAT(fitted, EndsWith("001.mp4"));
}

TEST(FitText, CutsAtTheEndWhereToldTo) {
  const std::string fitted = FitText("a dog jumps into the water", 20, 120, Cut::kEnd);
  EXPECT_THAT(fitted, StartsWith("a dog"));
  EXPECT_THAT(fitted, EndsWith("…"));
}

TEST(FitText, DoesNotPartALetterFromItsMark) {
  // The last part begins with a letter, not with the accent of a letter that went.
  std::string text;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "e\u0301");
  for (double width = 40; width < 200; ++width) {
    const std::string fitted = FitText(text, 20, width, Cut::kMiddle);
    EXPECT_EQ(fitted.find("…\xCC\x81"), std::string::npos) << width;
  }
}

TEST(FitText, GivesNothingWhereNothingFits) { EXPECT_EQ(FitText("abc", 20, 5, Cut::kEnd), ""); }

}  // namespace
}  // namespace scanline::render
