#include "client/cli/text_width.h"

#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(TextWidth("walk"), 4);
  EXPECT_EQ(TextWidth("für"), 3);
  EXPECT_EQ(TextWidth("e\u0301"), 1);  // A letter and a combining accent.
  EXPECT_EQ(TextWidth("動画"), 4);
  EXPECT_EQ(TextWidth("\xFF"), 1);
}

TEST(FitText, CutsAtAColumnAndKeepsLettersWhole) {
  EXPECT_EQ(FitText("walking", 7), "walking");
  EXPECT_EQ(FitText("walking", 5), "walk…");
  EXPECT_EQ(FitText("clips/a/walk.mp4", 7, Keep::kEnd), "…lk.mp4");
  EXPECT_EQ(FitText("clips/a/walk.mp4", 14, Keep::kEnd), "…/a/walk.mp4") << "whole folders";
  EXPECT_EQ(FitText("clips/a/walk.mp4", 9, Keep::kEnd), "…walk.mp4");
  EXPECT_EQ(FitText("clips/a/walk.mp4", 8, Keep::kEnd), "walk.mp4");
  EXPECT_EQ(FitText("動画動画", 5), "動画…");
  EXPECT_EQ(FitText("動画動画", 6), "動画…") << "half a letter does not fit";
}

TEST(FitText, LeavesNothingThatDrivesATerminal) {
  EXPECT_EQ(FitText("a\x1b[2Jb\n\xFF", 20), "a?[2Jb??");
}

TEST(PadText, FillsOnEitherSide) {
  EXPECT_EQ(PadText("für", 5, Align::kLeft), "für  ");
  EXPECT_EQ(PadText("für", 5, Align::kRight), "  für");
  EXPECT_EQ(PadText("walking", 5, Align::kLeft), "walking");
}

}  // namespace
}  // namespace scanline::cli
