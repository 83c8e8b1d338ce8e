#pragma once

#include <string>
#include <vector>

#include "client/render/ass_script.h"
#include "client/render/palette.h"

namespace scanline::render {

// How large things are drawn on a picture.
struct BoxStyle {
  int text_size = 20;
  int thickness = 3;  // of a box's frame
  int padding = 5;    // round a label

  // In proportion to the picture, readable on small ones.
  static BoxStyle For(int width, int height);
};

// Where a label stands, seen from its box, in the order of preference.
enum class LabelSpot { kAbove, kInside, kBelow, kInsideBottom };

// A label's lines, cut to what fits on a picture, and the pixels that they take with their backing.
struct Label {
  std::vector<std::string> lines;
  int width = 0;
  int height = 0;
};
Label FitLabel(const std::vector<std::string>& lines, const BoxStyle& style,
               const PixelRect& picture);

// The label's place for this spot, moved sideways and, if need be, up or down into the picture.
PixelRect PlaceLabel(const Label& label, LabelSpot spot, const PixelRect& box,
                     const PixelRect& picture);

// The first spot whose place is on the picture without being moved up or down and free of what is
// `taken`; kInside where there is none.
LabelSpot ChooseSpot(const Label& label, const PixelRect& box, const PixelRect& picture,
                     const std::vector<PixelRect>& taken);

// The frame and its label.
void DrawBox(AssScript& script, const BoxStyle& style, const PixelRect& box, Color color,
             const Label& label, const PixelRect& label_place, const PixelRect& picture);

// A rectangle in 0..1 of `picture`, in pixels, cut to it; never empty. What is no number counts as
// 0.
PixelRect ToPixels(double x0, double y0, double x1, double y1, const PixelRect& picture);

}  // namespace scanline::render
