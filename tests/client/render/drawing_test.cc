// What scripts look like once they are drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "client/render/ass_script.h"
#include "client/render/png.h"
#include "client/render/text_fit.h"
#include "tests/client/render/picture.h"

// Where it finds no font, fontconfig 2.14 itself loses a font set of 16 bytes.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:FcFontSetCreate"; }

namespace scanline::render {
namespace {

constexpr int kSize = 40;

// Where there is ink; x1 0: nowhere.
struct Ink {
  int x0 = 1 << 20;
  int y0 = 1 << 20;
  int x1 = 0;
  int y1 = 0;
  int pixels = 0;
};

Ink InkOf(const std::vector<std::string>& lines, const PixelRect* clip = nullptr,
          int size = kSize) {
  RgbImage picture;
  ShapeImage(picture, 1200, 200);
  AssScript script(picture.width, picture.height);
  AssScript::Text style;
  style.x = 20;
  style.y = 40;
  style.size = size;
  style.clip = clip;
  script.Write(style, lines);
  const absl::Status drawn = DrawScript(script.Finish(), picture);
  EXPECT_TRUE(drawn.ok()) << drawn;
  Ink ink;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      if (picture.row(y)[3 * x] < 64) continue;
      ink = {std::min(ink.x0, x), std::min(ink.y0, y), std::max(ink.x1, x + 1),
             std::max(ink.y1, y + 1), ink.pixels + 1};
    }
  }
  return ink;
}

TEST(Drawing, TextIsAsWideAsWasReckoned) {
  for (const std::string text :
       {"person 0.93", "carry/hold (an object) 0.5", "HHHH WWWW", "half … half",
        "WWWWWWWWWWWWWWWWWWWW", "illicit lilliputian !!", "/archive/2024/holiday_0001.mp4",
        "0123456789 @#$%&", "{}[]\\~^"}) {
    for (const int size : {13, 17, 19, 30, 40}) {
      const Ink ink = InkOf({text}, nullptr, size);
      const double reckoned = TextWidth(text, size);
      // Without the room beside the outer letters, and kerned.
      EXPECT_LE(ink.x1 - ink.x0, reckoned + 1) << text << " " << size;
      EXPECT_GE(ink.x1 - ink.x0, reckoned * 0.94 - 0.15 * size) << text << " " << size;
    }
  }
}

TEST(Drawing, OtherScriptsAreNoWiderThanReckoned) {
  for (const std::string text :
       {"Привет, Широкий Щит", "שלום עולם", "مرحبا بالعالم", "Ελληνικά", "日本語の名前",
        "naïve façade ÆŒ", "\xF0\x9F\x99\x82\xF0\x9F\x99\x82"}) {
    const Ink ink = InkOf({text});
    EXPECT_GT(ink.pixels, 20) << text << " vanished";
    EXPECT_LE(ink.x1 - ink.x0, TextWidth(text, kSize) + 1) << text;
  }
}

TEST(Drawing, HostileTextIsShownAsItIs) {
  const Ink plain = InkOf({"xbly"});
  const Ink braces = InkOf({"x{\\b1}y"});
  EXPECT_GT(braces.x1, plain.x1 + kSize / 2) << "the braces vanished";
  const Ink only_tag = InkOf({"{\\alpha&HFF&}"});
  EXPECT_GT(only_tag.pixels, 200);
  // One line: as high as a line with the same letters.
  for (const std::string text : {"a\\Nb|", "a\nb|", "a\\nb|",
                                 "a\xE2\x80\xA8"
                                 "b|"}) {
    const Ink ink = InkOf({text});
    EXPECT_LE(ink.y1 - ink.y0, kSize) << text;
    EXPECT_GT(ink.pixels, 100) << text;
  }
  EXPECT_GT(InkOf({"a|", "b|"}).y1, 40 + kSize) << "two lines are two lines";
  // Drawing mode cannot be switched on.
  const Ink drawing = InkOf({"{\\p1}m 0 0 l 900 0 900 150 0 150"});
  EXPECT_LT(drawing.pixels, 20'000);
}

TEST(Drawing, NothingLeavesTheClip) {
  const PixelRect clip = {20, 40, 220, 80};
  const Ink ink = InkOf({std::string(200, 'W')}, &clip);
  EXPECT_GE(ink.x0, 20);
  EXPECT_LE(ink.x1, 220);
  EXPECT_GT(ink.pixels, 1000);
}

TEST(Drawing, ShapesAreWhereTheyAreSaidToBe) {
  RgbImage picture;
  ShapeImage(picture, 100, 80);
  std::fill(picture.bytes.begin(), picture.bytes.end(), 200);
  AssScript script(picture.width, picture.height);
  script.FillRect({10, 20, 40, 30}, {255, 0, 0});
  script.DrawFrame({50, 20, 90, 70}, 4, {0, 255, 0}, {0, 0, 100, 80});
  ASSERT_TRUE(DrawScript(script.Finish(), picture).ok());
  const auto at = [&](int x, int y) {
    const uint8_t* p = picture.row(y) + 3 * x;
    return Color{p[0], p[1], p[2]};
  };
  const Color red = {255, 0, 0}, green = {0, 255, 0}, grey = {200, 200, 200};
  for (const auto& [x, y] : {std::pair(10, 20), {39, 20}, {10, 29}, {39, 29}}) {
    EXPECT_LE(testing::Distance(at(x, y), red), 1) << x << "," << y;
  }
  for (const auto& [x, y] : {std::pair(9, 20), {40, 20}, {10, 19}, {10, 30}, {70, 45}}) {
    EXPECT_EQ(at(x, y), grey) << x << "," << y;
  }
  for (const auto& [x, y] : {std::pair(50, 20), {89, 69}, {53, 45}, {70, 23}, {86, 45}, {70, 66}}) {
    EXPECT_LE(testing::Distance(at(x, y), green), 1) << x << "," << y;
  }
  EXPECT_NE(at(49, 45), grey) << "a dark rim round the frame";
}

TEST(Drawing, WithoutAFontThereIsATypedError) {
  const testing::TempFolder folder;
  const std::string config = (folder / "fonts.conf");
  std::ofstream(config) << "<?xml version=\"1.0\"?><fontconfig><dir>" << (folder / "none")
                        << "</dir><cachedir>" << (folder / "cache") << "</cachedir></fontconfig>";
  EXPECT_TRUE(CheckFonts().ok());
  setenv("FONTCONFIG_FILE", config.c_str(), 1);
  const absl::Status status = CheckFonts();
  unsetenv("FONTCONFIG_FILE");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("fonts-dejavu-core"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace scanline::render
