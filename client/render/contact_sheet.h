#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/render/palette.h"

namespace scanline::render {

// A box on a picture: corners in 0..1 of it. The label stands at its upper edge.
struct DrawnBox {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  Color color;
  std::vector<std::string> lines;
};

// One picture of a sheet: RGB, 8 bit, rows without gaps; empty where there is none (a clip that
// could not be read), then only the text is shown.
struct SheetTile {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
  std::vector<std::string> lines;  // below the picture; the first one stands out
  std::vector<DrawnBox> boxes;
};

// Scores over time, for the chart below the pictures.
struct ScoreLine {
  std::string label;
  Color color;
  std::vector<std::pair<double, double>> points;  // (seconds, score in 0..1), seconds ascending
};

struct SheetOptions {
  std::string title;     // above all, e.g. what was searched for; may be empty
  std::string subtitle;  // smaller, e.g. the model and the number of files; may be empty
  int columns = 0;       // 0: as many as give a sheet of pleasant shape
  int tile_width = 320;  // larger pictures are made smaller; small ones stay as they are
  std::vector<ScoreLine> chart;
};

// Writes the tiles, in rows, as the PNG file `path`, whole or not at all; a file of that name is
// replaced. Text is any bytes: what is not UTF-8 or cannot be shown is replaced, what is too long
// is cut (in the middle, so that the end of a file's name stays) and never leaves its tile. Errors:
// INVALID_ARGUMENT for no tiles or a buffer of another size than it says, RESOURCE_EXHAUSTED for a
// sheet over 100 million pixels, FAILED_PRECONDITION where no font is installed, or as the file
// system says.
absl::Status WriteContactSheet(const std::string& path, const std::vector<SheetTile>& tiles,
                               const SheetOptions& options = {});

}  // namespace scanline::render
