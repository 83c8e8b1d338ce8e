#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/render/palette.h"

namespace scanline::render {

// A rectangle in 0..1 of the displayed picture.
struct Region {
  double x0 = 0;
  double y0 = 0;
  double x1 = 1;
  double y1 = 1;
};

// What is drawn on a video. Plain data; times in seconds from its first frame, [start, end).
struct OverlayBox {
  double start = 0;
  double end = 0;
  Region region;
  std::optional<Region> moves_to;  // reached at `end`, evenly
  Color color;
  std::vector<std::string> lines;  // its label; may be empty
};

struct OverlayCaption {
  double start = 0;
  double end = 0;
  std::vector<std::string> lines;
};

struct Overlay {
  std::vector<OverlayBox> boxes;
  std::vector<OverlayCaption> captions;  // in the upper left corner
};

}  // namespace scanline::render
