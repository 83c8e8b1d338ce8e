#include "client/render/ass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "client/render/ass_script.h"
#include "client/render/box_label.h"

namespace scanline::render {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Events(const std::string& ass) {
  std::vector<std::string> events;
  for (const auto line : absl::StrSplit(ass, '\n')) {
    if (absl::StartsWith(line, "Dialogue: ")) events.emplace_back(line);
  }
  return events;
}

std::string ShownText(const std::string& event) { return event.substr(event.find('}') + 1); }

Overlay OneBox(std::vector<std::string> lines) {
  Overlay overlay;
  overlay.boxes.push_back({1, 2, {0.25, 0.5, 0.5, 0.75}, std::nullopt, PaletteColor(1), lines});
  return overlay;
}

TEST(EscapeAss, TextCannotBecomeMarkup) {
  EXPECT_EQ(EscapeAss("{\\b1}x"),
            "\\{\\\xE2\x81\xA0"
            "b1\\}x");
  EXPECT_EQ(EscapeAss("a\\Nb\\n\\h"), "a\\\xE2\x81\xA0Nb\\\xE2\x81\xA0n\\\xE2\x81\xA0h");
  EXPECT_EQ(EscapeAss("two\nlines\r"), "two lines ");
}

TEST(ToAss, ABoxIsAFrameAndALabelAtItsTime) {
  const auto events = Events(ToAss(OneBox({"person 0.93", "walk, 0.81"}), 640, 480));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0], HasSubstr("Dialogue: 0,0:00:01.00,0:00:02.00,Shape,,0,0,0,,"));
  EXPECT_THAT(events[0], HasSubstr("\\pos(160,240)"));
  EXPECT_THAT(events[0], HasSubstr("\\1c&H009FE6&"));  // orange, blue first
  EXPECT_EQ(ShownText(events[1]), "person 0.93\\Nwalk, 0.81");
}

TEST(ToAss, TimesAreRoundedDownSoThatAnEventBeginsWithItsFrame) {
  Overlay overlay = OneBox({});
  overlay.boxes[0].start = 61.0 / 30;  // 2.0333
  overlay.boxes[0].end = 3725.999;
  EXPECT_THAT(Events(ToAss(overlay, 640, 480))[0], HasSubstr(",0:00:02.03,1:02:05.99,"));
}

TEST(ToAss, AMovingBoxGoesFromItsFirstPlaceToItsLast) {
  Overlay overlay = OneBox({"p"});
  overlay.boxes[0].moves_to = Region{0.5, 0.5, 0.75, 0.75};
  const auto events = Events(ToAss(overlay, 1000, 1000));
  ASSERT_EQ(events.size(), 50u);  // a frame and a label each 40 ms
  EXPECT_THAT(events.front(), HasSubstr("\\pos(255,500)"));
  EXPECT_THAT(events[48], HasSubstr("\\pos(495,500)"));
  EXPECT_THAT(events[48], HasSubstr(",0:00:01.96,0:00:02.00,"));
}

TEST(ToAss, WhatHasNoTimeIsNotDrawn) {
  for (const auto& [start, end] : {std::pair(2.0, 1.0), {1.0, 1.0}, {0.0, NAN}, {0.0, INFINITY}}) {
    Overlay overlay = OneBox({"x"});
    overlay.boxes[0].start = start;
    overlay.boxes[0].end = end;
    EXPECT_TRUE(Events(ToAss(overlay, 640, 480)).empty()) << start << " " << end;
  }
}

TEST(ToAss, PlacesThatAreNoNumbersStayOnThePicture) {
  Overlay overlay = OneBox({"x"});
  overlay.boxes[0].region = {NAN, -1e30, INFINITY, 7};
  const auto events = Events(ToAss(overlay, 640, 480));
  EXPECT_THAT(events[0], HasSubstr("\\pos(0,0)"));
}

TEST(ChooseSpot, LabelsOfNeighboursDoNotCoverEachOther) {
  const PixelRect picture = {0, 0, 640, 480};
  const BoxStyle style = BoxStyle::For(640, 480);
  const Label label = FitLabel({"person 0.93", "walk 0.81"}, style, picture);
  std::vector<PixelRect> taken;
  for (const int x : {100, 110, 120}) {
    const PixelRect box = {x, 200, x + 100, 400};
    const PixelRect place = PlaceLabel(label, ChooseSpot(label, box, picture, taken), box, picture);
    for (const PixelRect& other : taken) {
      EXPECT_TRUE(place.y1 <= other.y0 || other.y1 <= place.y0);
    }
    taken.push_back(place);
  }
}

TEST(PlaceLabel, StaysOnThePicture) {
  const PixelRect picture = {0, 0, 300, 200};
  const BoxStyle style = BoxStyle::For(300, 200);
  const Label label =
      FitLabel({"a label that is much too long for so small a picture"}, style, picture);
  for (const PixelRect box : {PixelRect{0, 0, 10, 10}, {290, 190, 300, 200}, {100, 0, 200, 200}}) {
    for (const LabelSpot spot :
         {LabelSpot::kAbove, LabelSpot::kInside, LabelSpot::kBelow, LabelSpot::kInsideBottom}) {
      const PixelRect place = PlaceLabel(label, spot, box, picture);
      EXPECT_GE(place.x0, 0);
      EXPECT_GE(place.y0, 0);
      EXPECT_LE(place.x1, 300);
      EXPECT_LE(place.y1, 200);
    }
  }
}

TEST(ToPixels, IsNeverEmpty) {
  const PixelRect picture = {10, 20, 110, 70};
  EXPECT_EQ(ToPixels(0, 0, 1, 1, picture), picture);
  EXPECT_EQ(ToPixels(0.5, 0.5, 0.5, 0.5, picture), (PixelRect{60, 45, 61, 46}));
  EXPECT_EQ(ToPixels(1, 1, 1, 1, picture), (PixelRect{109, 69, 110, 70}));
  EXPECT_EQ(ToPixels(0.75, 0.8, 0.25, 0.2, picture), (PixelRect{35, 30, 85, 60}));
}

TEST(ToWebVtt, CuesAreEscapedAndInOrder) {
  Overlay overlay = OneBox({"walk <b>&", "", "a --> b"});
  overlay.captions.push_back({0.5, 3600.25, {"pan left"}});
  EXPECT_EQ(ToWebVtt(overlay),
            "WEBVTT\n\n00:00:00.500 --> 01:00:00.250\npan left\n\n"
            "00:00:01.000 --> 00:00:02.000\nwalk &lt;b&gt;&amp;\na --&gt; b\n");
}

TEST(Palette, InkIsReadableOnEveryColour) {
  for (size_t i = 0; i < 7; ++i) {
    const Color c = PaletteColor(i);
    const Color ink = InkOn(c);
    const double luma = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
    EXPECT_GT(std::abs(luma - ink.red), 75) << i;
    EXPECT_NE(c, PaletteColor(i + 1));
  }
  EXPECT_EQ(PaletteColor(7), PaletteColor(0));
}

}  // namespace
}  // namespace scanline::render
