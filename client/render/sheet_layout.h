#pragma once

#include <vector>

#include "client/render/ass_script.h"
#include "client/render/contact_sheet.h"

namespace scanline::render {

// Sizes in pixels.
inline constexpr int kSheetMargin = 28;
inline constexpr int kTitleSize = 30;
inline constexpr int kSubtitleSize = 19;
inline constexpr int kFirstLineSize = 19;
inline constexpr int kOtherLineSize = 17;
inline constexpr int kTextGap = 8;  // between a picture and its lines

struct PlacedTile {
  PixelRect plate;    // the room that all pictures of the row have
  PixelRect picture;  // in the middle of the plate; empty where there is none
  PixelRect text;
};

struct SheetLayout {
  int width = 0;
  int height = 0;
  int columns = 1;
  PixelRect header;
  std::vector<PlacedTile> tiles;
  PixelRect chart;  // empty where there is none
};

// Where everything goes. A row is as high as its highest picture and its longest text.
SheetLayout LayOutSheet(const std::vector<SheetTile>& tiles, const SheetOptions& options);

}  // namespace scanline::render
