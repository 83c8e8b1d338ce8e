#include "client/render/sheet_layout.h"

#include <algorithm>
#include <cmath>

namespace scanline::render {
namespace {

constexpr int kGap = 20;
constexpr int kRowGap = 24;
constexpr int kMinTileWidth = 200;
constexpr int kMinSheetWidth = 640;
constexpr int kMaxColumns = 8;
constexpr int kChartHeight = 190;
constexpr double kPleasantShape = 1.5;  // width : height

struct PictureSize {
  int width = 0;
  int height = 0;
};

// Within a square of `side`, never enlarged.
PictureSize Shrunk(const SheetTile& tile, int side) {
  if (tile.rgb.empty()) return {};
  const double scale = std::min(1.0, static_cast<double>(side) / std::max(tile.width, tile.height));
  return {std::max(1, static_cast<int>(std::lround(tile.width * scale))),
          std::max(1, static_cast<int>(std::lround(tile.height * scale)))};
}

int TextHeight(const SheetTile& tile) {
  if (tile.lines.empty()) return 0;
  return kTextGap + kFirstLineSize + kOtherLineSize * (static_cast<int>(tile.lines.size()) - 1);
}

int ChooseColumns(int count, int tile_width, int tile_height) {
  int best = 1;
  double best_distance = INFINITY;
  for (int columns = 1; columns <= std::min(count, kMaxColumns); ++columns) {
    const int rows = (count + columns - 1) / columns;
    const double shape =
        static_cast<double>(columns) * (tile_width + kGap) / (rows * (tile_height + kRowGap));
    const double distance = std::abs(std::log(shape / kPleasantShape));
    if (distance < best_distance) {
      best = columns;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

SheetLayout LayOutSheet(const std::vector<SheetTile>& tiles, const SheetOptions& options) {
  SheetLayout layout;
  const int side = std::max(options.tile_width, 16);
  const int count = static_cast<int>(tiles.size());
  std::vector<PictureSize> sizes;
  int tile_width = std::min(kMinTileWidth, side), tile_height = 0;
  for (const SheetTile& tile : tiles) {
    sizes.push_back(Shrunk(tile, side));
    tile_width = std::max(tile_width, sizes.back().width);
    tile_height = std::max(tile_height, sizes.back().height + TextHeight(tile));
  }
  layout.columns = options.columns > 0 ? std::min(options.columns, std::max(count, 1))
                                       : ChooseColumns(count, tile_width, tile_height);
  const int grid_width = layout.columns * (tile_width + kGap) - kGap;
  const bool wants_room = !options.title.empty() || !options.chart.empty();
  layout.width =
      2 * kSheetMargin + (wants_room ? std::max(grid_width, kMinSheetWidth) : grid_width);
  const int right = layout.width - kSheetMargin;

  int y = kSheetMargin;
  if (!options.title.empty()) y += kTitleSize;
  if (!options.subtitle.empty()) y += kSubtitleSize + (options.title.empty() ? 0 : 4);
  layout.header = {kSheetMargin, kSheetMargin, right, y};
  if (y > kSheetMargin) y += kGap;

  for (int first = 0; first < count; first += layout.columns) {
    const int last = std::min(count, first + layout.columns);
    int picture_height = 0, text_height = 0;
    for (int i = first; i < last; ++i) {
      picture_height = std::max(picture_height, sizes[i].height);
      text_height = std::max(text_height, TextHeight(tiles[i]));
    }
    if (picture_height == 0) picture_height = tile_width * 9 / 16;
    for (int i = first; i < last; ++i) {
      const int x = kSheetMargin + (i - first) * (tile_width + kGap);
      PlacedTile placed;
      placed.plate = {x, y, x + tile_width, y + picture_height};
      const int left = x + (tile_width - sizes[i].width) / 2;
      const int top = y + (picture_height - sizes[i].height) / 2;
      placed.picture = {left, top, left + sizes[i].width, top + sizes[i].height};
      placed.text = {x, placed.plate.y1 + kTextGap, x + tile_width,
                     placed.plate.y1 + std::max(text_height, kTextGap)};
      layout.tiles.push_back(placed);
    }
    y += picture_height + text_height + kRowGap;
  }
  if (!options.chart.empty()) {
    layout.chart = {kSheetMargin, y, right, y + kChartHeight};
    y += kChartHeight + kRowGap;
  }
  layout.height = y - kRowGap + kSheetMargin;
  return layout;
}

}  // namespace scanline::render
