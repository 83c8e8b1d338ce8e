#include "client/render/contact_sheet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "client/render/box_label.h"
#include "client/render/score_chart.h"
#include "client/render/sheet_layout.h"
#include "tests/client/render/picture.h"

namespace scanline::render {
namespace {

using ::scanline::testing::Distance;
using ::scanline::testing::PixelAt;
using ::scanline::testing::TempFolder;

constexpr Color kBackground = {18, 20, 25};

SheetTile FlatTile(int width, int height, Color color, std::vector<std::string> lines = {}) {
  SheetTile tile;
  tile.width = width;
  tile.height = height;
  tile.lines = std::move(lines);
  for (int i = 0; i < width * height; ++i) {
    tile.rgb.insert(tile.rgb.end(), {color.red, color.green, color.blue});
  }
  return tile;
}

TEST(ContactSheet, HasTheSizeOfItsLayoutAndThePicturesInTheirPlaces) {
  const TempFolder folder;
  const std::vector<SheetTile> tiles = {
      FlatTile(640, 360, {200, 40, 40}, {"0.41", "a.mp4"}),  // made smaller
      FlatTile(320, 180, {40, 200, 40}, {"0.40"}),
      FlatTile(90, 160, {40, 40, 200}, {"0.39", "c.mp4", "third"}),
  };
  SheetOptions options;
  options.title = "a dog";
  options.columns = 2;
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles, options).ok());
  const SheetLayout layout = LayOutSheet(tiles, options);
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  EXPECT_EQ(sheet.width, layout.width);
  EXPECT_EQ(sheet.height, layout.height);
  const Color colors[] = {{200, 40, 40}, {40, 200, 40}, {40, 40, 200}};
  for (int i = 0; i < 3; ++i) {
    const PixelRect& at = layout.tiles[i].picture;
    for (const auto& [x, y] : {std::pair(at.x0, at.y0), {at.x1 - 1, at.y1 - 1}}) {
      EXPECT_LE(Distance(PixelAt(sheet, x, y), colors[i]), 2) << i;
    }
  }
  EXPECT_EQ(layout.tiles[0].picture.width(), 320);
  EXPECT_EQ(layout.tiles[0].picture.height(), 180);
  EXPECT_EQ(layout.tiles[2].picture.width(), 90);
  EXPECT_EQ(layout.tiles[2].plate.y0, layout.tiles[2].picture.y0);
  EXPECT_GT(layout.tiles[2].plate.y0, layout.tiles[0].text.y1);
  EXPECT_EQ(folder.files(), 1u) << "nothing but the sheet";
}

// The gaps between tiles and the margins hold nothing, however long and strange the text.
TEST(ContactSheet, NoTextLeavesItsTile) {
  const TempFolder folder;
  const std::vector<std::string> lines = {std::string(300, 'W'),
                                          "/very/long/path/" + std::string(200, 'x') + "/clip.mp4",
                                          "日本語日本語日本語日本語日本語日本語日本語日本語日本語",
                                          "{\\fs200}{\\pos(0,0)}{\\an3}big",
                                          "a\\Nb\nc\xFF\xFE",
                                          "مرحبا بالعالم مرحبا بالعالم مرحبا بالعالم مرحبا"};
  std::vector<SheetTile> tiles(4, FlatTile(320, 180, {90, 90, 90}, lines));
  for (SheetTile& tile : tiles) {
    tile.boxes = {{0.7, 0.7, 1, 1, PaletteColor(0), lines},
                  {0, 0, 0.1, 0.1, PaletteColor(1), lines}};
  }
  SheetOptions options;
  options.columns = 2;
  options.title = std::string(500, 'M');
  options.subtitle = std::string(500, '{');
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles, options).ok());
  const SheetLayout layout = LayOutSheet(tiles, options);
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  int ink = 0, stray = 0;
  for (int y = 0; y < sheet.height; ++y) {
    for (int x = 0; x < sheet.width; ++x) {
      if (Distance(PixelAt(sheet, x, y), kBackground) <= 12) continue;
      bool inside = x >= layout.header.x0 && x < layout.header.x1 && y < layout.header.y1 + 6;
      for (const PlacedTile& tile : layout.tiles) {
        inside = inside || (x >= tile.plate.x0 && x < tile.plate.x1 && y >= tile.plate.y0 &&
                            y < tile.text.y1 + 6);
      }
      if (!inside && stray == 0) std::printf("stray ink at %d,%d\n", x, y);
      ++(inside ? ink : stray);
    }
  }
  EXPECT_EQ(stray, 0);
  EXPECT_GT(ink, 4 * 320 * 180);
}

TEST(ContactSheet, EveryLineShows) {
  const TempFolder folder;
  const std::vector<std::string> lines = {"0.41", "a.mp4", "{\\b1}",
                                          "\\N",  "שלום",  "\xF0\x9F\x99\x82"};
  const std::vector<SheetTile> tiles = {FlatTile(320, 180, {90, 90, 90}, lines)};
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles).ok());
  const SheetLayout layout = LayOutSheet(tiles, {});
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  int top = layout.tiles[0].text.y0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const int size = i == 0 ? kFirstLineSize : kOtherLineSize;
    int ink = 0;
    for (int y = top; y < top + size; ++y) {
      for (int x = layout.tiles[0].text.x0; x < layout.tiles[0].text.x1; ++x) {
        ink += Distance(PixelAt(sheet, x, y), kBackground) > 60;
      }
    }
    EXPECT_GT(ink, 10) << lines[i];
    top += size;
  }
}

TEST(ContactSheet, BoxesAreDrawnInTheirColour) {
  const TempFolder folder;
  std::vector<SheetTile> tiles = {FlatTile(320, 240, {90, 90, 90}, {"x"})};
  tiles[0].boxes.push_back({0.25, 0.5, 0.75, 0.9, PaletteColor(5), {}});
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles).ok());
  const PixelRect at = LayOutSheet(tiles, {}).tiles[0].picture;
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  EXPECT_LE(Distance(PixelAt(sheet, at.x0 + 80, at.y0 + 120), PaletteColor(5)), 1);
  EXPECT_LE(Distance(PixelAt(sheet, at.x0 + 239, at.y0 + 215), PaletteColor(5)), 1);
  EXPECT_EQ(PixelAt(sheet, at.x0 + 160, at.y0 + 170), (Color{90, 90, 90}));
}

TEST(ContactSheet, ATileWithoutAPictureSaysSo) {
  const TempFolder folder;
  SheetTile gone;
  gone.lines = {"gone.mp4"};
  const std::vector<SheetTile> tiles = {FlatTile(320, 180, {90, 90, 90}, {"a"}), gone};
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles).ok());
  const PixelRect plate = LayOutSheet(tiles, {}).tiles[1].plate;
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  int ink = 0;
  for (int y = plate.y0; y < plate.y1; ++y) {
    for (int x = plate.x0; x < plate.x1; ++x) ink += PixelAt(sheet, x, y).red > 120;
  }
  EXPECT_GT(ink, 50);
}

TEST(ContactSheet, TheChartShowsEachLineAndSurvivesWhatIsNoNumber) {
  const TempFolder folder;
  const std::vector<SheetTile> tiles = {FlatTile(320, 180, {90, 90, 90}, {"a"})};
  SheetOptions options;
  options.chart = {{"pan left", PaletteColor(1), {{0, 0.2}, {1, 0.9}, {2, 0.4}}},
                   {"zoom in", PaletteColor(2), {{0, NAN}, {1, 0.1}, {INFINITY, 0.5}, {2, 7}}},
                   {"nothing", PaletteColor(3), {}}};
  ASSERT_TRUE(WriteContactSheet((folder / "s.png"), tiles, options).ok());
  const PixelRect area = LayOutSheet(tiles, options).chart;
  const TimedFrame sheet = testing::ReadFrames((folder / "s.png"))[0];
  int first = 0, second = 0;
  for (int y = area.y0; y < area.y1; ++y) {
    for (int x = area.x0; x < area.x1; ++x) {
      first += Distance(PixelAt(sheet, x, y), PaletteColor(1)) <= 2;
      second += Distance(PixelAt(sheet, x, y), PaletteColor(2)) <= 2;
    }
  }
  EXPECT_GT(first, 500);
  EXPECT_GT(second, 300);
}

TEST(ContactSheet, RefusesWhatCannotBeMeant) {
  const TempFolder folder;
  const std::string path = (folder / "s.png");
  EXPECT_EQ(WriteContactSheet(path, {}).code(), absl::StatusCode::kInvalidArgument);
  SheetTile wrong = FlatTile(10, 10, {1, 2, 3});
  wrong.width = 1000;
  EXPECT_EQ(WriteContactSheet(path, {wrong}).code(), absl::StatusCode::kInvalidArgument);
  SheetOptions huge;
  huge.columns = 1;
  const std::vector<SheetTile> many(2'000, FlatTile(320, 180, {1, 2, 3}));
  EXPECT_EQ(WriteContactSheet(path, many, huge).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(ContactSheet, AFolderThatIsNotThereIsAnError) {
  const TempFolder folder;
  const auto status = WriteContactSheet((folder / "no/s.png"), {FlatTile(10, 10, {1, 2, 3})});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
}

TEST(TimeStep, IsARoundNumber) {
  EXPECT_EQ(TimeStep(10, 10), 1);
  EXPECT_EQ(TimeStep(12, 10), 2);
  EXPECT_EQ(TimeStep(0.5, 10), 0.05);
  EXPECT_EQ(TimeStep(100, 8), 15);
  EXPECT_EQ(TimeStep(3 * 3600, 10), 1800);
  EXPECT_EQ(TimeStep(30 * 3600, 10), 3 * 3600);
}

TEST(TimeText, SaysWhatTheLengthNeeds) {
  EXPECT_EQ(TimeText(0, 12), "0 s");
  EXPECT_EQ(TimeText(-1e-12, 12), "0 s");
  EXPECT_EQ(TimeText(2.5, 12), "2.5 s");
  EXPECT_EQ(TimeText(75, 100), "1:15");
  EXPECT_EQ(TimeText(3723, 7200), "1:02:03");
}

}  // namespace
}  // namespace scanline::render
