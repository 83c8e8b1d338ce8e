#include "client/render/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/render/ass_script.h"
#include "client/render/box_label.h"
#include "client/render/png.h"
#include "client/render/score_chart.h"
#include "client/render/sheet_layout.h"
#include "client/render/text_fit.h"
#include "decode/rgb_image.h"

namespace scanline::render {
namespace {

constexpr int64_t kMaxPixels = 100'000'000;
constexpr Color kBackground = {18, 20, 25};
constexpr Color kPlate = {30, 33, 40};
constexpr Color kInk = {242, 244, 248};
constexpr Color kFaintInk = {164, 171, 184};
constexpr char kNoPicture[] = "no picture";

absl::Status CheckTiles(const std::vector<SheetTile>& tiles) {
  if (tiles.empty())
    return absl::InvalidArgumentError("a contact sheet needs at least one picture");
  for (size_t i = 0; i < tiles.size(); ++i) {
    const SheetTile& tile = tiles[i];
    if (tile.rgb.empty()) continue;
    const bool sized = tile.width > 0 && tile.height > 0 &&
                       tile.rgb.size() == static_cast<size_t>(tile.width) * tile.height * 3;
    if (sized) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("picture %d of the sheet is said to be %dx%d and has %d bytes", i,
                        tile.width, tile.height, tile.rgb.size()));
  }
  return absl::OkStatus();
}

void PastePicture(const RgbView& picture, const PixelRect& at, RgbImage& sheet) {
  for (int y = 0; y < at.height(); ++y) {
    std::memcpy(sheet.row(at.y0 + y) + 3 * ptrdiff_t{at.x0}, picture.row(y),
                static_cast<size_t>(at.width()) * 3);
  }
}

absl::Status PasteTile(const SheetTile& tile, const PixelRect& at, RgbImage& sheet) {
  const RgbView picture{tile.rgb.data(), tile.width, tile.height, ptrdiff_t{tile.width} * 3};
  if (at.width() == tile.width && at.height() == tile.height) {
    PastePicture(picture, at, sheet);
    return absl::OkStatus();
  }
  SCANLINE_ASSIGN_OR_RETURN(const RgbImage small, Resize(picture, at.width(), at.height()));
  PastePicture(small.view(), at, sheet);
  return absl::OkStatus();
}

void WriteLine(AssScript& script, const PixelRect& area, int y, int size, Color color, Cut cut,
               const std::string& line) {
  AssScript::Text style;
  style.x = area.x0;
  style.y = y;
  style.size = size;
  style.color = color;
  // A little room on top and below for accents and stacked marks.
  const PixelRect clip = {area.x0, y - size / 2, area.x1, y + size + size / 2};
  style.clip = &clip;
  script.Write(style, {FitText(line, size, area.width(), cut)});
}

void DrawHeader(AssScript& script, const PixelRect& area, const SheetOptions& options) {
  int y = area.y0;
  if (!options.title.empty()) {
    WriteLine(script, area, y, kTitleSize, kInk, Cut::kEnd, options.title);
    y += kTitleSize + 4;
  }
  if (!options.subtitle.empty()) {
    WriteLine(script, area, y, kSubtitleSize, kFaintInk, Cut::kMiddle, options.subtitle);
  }
}

void DrawTile(AssScript& script, const SheetTile& tile, const PlacedTile& placed) {
  const PixelRect& picture = placed.picture;
  if (tile.rgb.empty()) {
    AssScript::Text style;
    style.x = (placed.plate.x0 + placed.plate.x1) / 2;
    style.y = (placed.plate.y0 + placed.plate.y1) / 2;
    style.anchor = 5;
    style.size = kOtherLineSize;
    style.color = kFaintInk;
    script.Write(style, {kNoPicture});
  } else {
    const BoxStyle box_style = BoxStyle::For(picture.width(), picture.height());
    std::vector<PixelRect> taken;
    for (const DrawnBox& box : tile.boxes) {
      const PixelRect rect = ToPixels(box.x0, box.y0, box.x1, box.y1, picture);
      const Label label = FitLabel(box.lines, box_style, picture);
      const LabelSpot spot = ChooseSpot(label, rect, picture, taken);
      taken.push_back(PlaceLabel(label, spot, rect, picture));
      DrawBox(script, box_style, rect, box.color, label, taken.back(), picture);
    }
  }
  int y = placed.text.y0;
  for (size_t i = 0; i < tile.lines.size(); ++i) {
    const int size = i == 0 ? kFirstLineSize : kOtherLineSize;
    WriteLine(script, placed.text, y, size, i == 0 ? kInk : kFaintInk, Cut::kMiddle, tile.lines[i]);
    y += size;
  }
}

void FillRect(const PixelRect& rect, Color color, RgbImage& sheet) {
  for (int y = rect.y0; y < rect.y1; ++y) {
    uint8_t* pixel = sheet.row(y) + 3 * ptrdiff_t{rect.x0};
    for (int x = rect.x0; x < rect.x1; ++x, pixel += 3) {
      pixel[0] = color.red;
      pixel[1] = color.green;
      pixel[2] = color.blue;
    }
  }
}

}  // namespace

absl::Status WriteContactSheet(const std::string& path, const std::vector<SheetTile>& tiles,
                               const SheetOptions& options) {
  SCANLINE_RETURN_IF_ERROR(CheckTiles(tiles));
  SCANLINE_RETURN_IF_ERROR(CheckFonts());
  const SheetLayout layout = LayOutSheet(tiles, options);
  if (int64_t{layout.width} * layout.height > kMaxPixels) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("the sheet of %d pictures would be %dx%d pixels; at most %d are drawn: ask "
                        "for fewer pictures",
                        tiles.size(), layout.width, layout.height, kMaxPixels));
  }
  RgbImage sheet;
  ShapeImage(sheet, layout.width, layout.height);
  FillRect({0, 0, layout.width, layout.height}, kBackground, sheet);
  AssScript script(layout.width, layout.height);
  DrawHeader(script, layout.header, options);
  for (size_t i = 0; i < tiles.size(); ++i) {
    FillRect(layout.tiles[i].plate, kPlate, sheet);
    if (!tiles[i].rgb.empty()) {
      SCANLINE_RETURN_IF_ERROR(PasteTile(tiles[i], layout.tiles[i].picture, sheet));
    }
    DrawTile(script, tiles[i], layout.tiles[i]);
  }
  if (!options.chart.empty()) DrawChart(script, layout.chart, options.chart);
  SCANLINE_RETURN_IF_ERROR(DrawScript(script.Finish(), sheet));
  return WritePng(path, sheet.view());
}

}  // namespace scanline::render
