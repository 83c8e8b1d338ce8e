#include "client/render/box_label.h"

#include <algorithm>
#include <cmath>

#include "client/render/text_fit.h"

namespace scanline::render {
namespace {

// A label of more lines hides what it speaks of.
constexpr size_t kMaxLines = 6;

bool Overlap(const PixelRect& a, const PixelRect& b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

int LabelTop(const Label& label, LabelSpot spot, const PixelRect& box) {
  switch (spot) {
    case LabelSpot::kAbove:
      return box.y0 - label.height;
    case LabelSpot::kInside:
      return box.y0;
    case LabelSpot::kBelow:
      return box.y1;
    case LabelSpot::kInsideBottom:
      break;
  }
  return box.y1 - label.height;
}

int ToPixel(double share, int from, int size) {
  if (!std::isfinite(share)) return from;
  return from + static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * size));
}

}  // namespace

BoxStyle BoxStyle::For(int width, int height) {
  // The short side rules, so that an upright phone clip is not covered by its labels.
  const double side = std::min(width, height);
  BoxStyle style;
  style.text_size = std::clamp(static_cast<int>(std::lround(side / 26)), 13, 64);
  style.thickness = std::clamp(static_cast<int>(std::lround(side / 240)), 2, 8);
  style.padding = std::max(3, style.text_size / 5);
  return style;
}

Label FitLabel(const std::vector<std::string>& lines, const BoxStyle& style,
               const PixelRect& picture) {
  Label label;
  const double room = picture.width() - 2 * style.padding;
  double widest = 0;
  for (size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
    label.lines.push_back(FitText(lines[i], style.text_size, room, Cut::kMiddle));
    widest = std::max(widest, TextWidth(label.lines.back(), style.text_size));
  }
  if (label.lines.empty()) return label;
  label.width = static_cast<int>(std::ceil(widest)) + 2 * style.padding;
  label.height = static_cast<int>(label.lines.size()) * style.text_size + 2 * style.padding;
  return label;
}

PixelRect PlaceLabel(const Label& label, LabelSpot spot, const PixelRect& box,
                     const PixelRect& picture) {
  const int left = std::max(picture.x0, std::min(box.x0, picture.x1 - label.width));
  const int top =
      std::max(picture.y0, std::min(LabelTop(label, spot, box), picture.y1 - label.height));
  return {left, top, left + label.width, top + label.height};
}

LabelSpot ChooseSpot(const Label& label, const PixelRect& box, const PixelRect& picture,
                     const std::vector<PixelRect>& taken) {
  for (const LabelSpot spot :
       {LabelSpot::kAbove, LabelSpot::kInside, LabelSpot::kBelow, LabelSpot::kInsideBottom}) {
    const PixelRect place = PlaceLabel(label, spot, box, picture);
    const bool moved = place.y0 != LabelTop(label, spot, box);
    const bool free = std::none_of(taken.begin(), taken.end(),
                                   [&](const PixelRect& other) { return Overlap(place, other); });
    if (!moved && free) return spot;
  }
  return LabelSpot::kInside;
}

void DrawBox(AssScript& script, const BoxStyle& style, const PixelRect& box, Color color,
             const Label& label, const PixelRect& label_place, const PixelRect& picture) {
  script.DrawFrame(box, style.thickness, color, picture);
  if (label.lines.empty()) return;
  AssScript::Text text;
  text.x = label_place.x0 + style.padding;
  text.y = label_place.y0 + style.padding;
  text.size = style.text_size;
  text.color = InkOn(color);
  text.clip = &picture;
  text.backing = &color;
  text.padding = style.padding;
  script.Write(text, label.lines);
}

PixelRect ToPixels(double x0, double y0, double x1, double y1, const PixelRect& picture) {
  PixelRect rect = {
      ToPixel(x0, picture.x0, picture.width()), ToPixel(y0, picture.y0, picture.height()),
      ToPixel(x1, picture.x0, picture.width()), ToPixel(y1, picture.y0, picture.height())};
  if (rect.x0 > rect.x1) std::swap(rect.x0, rect.x1);
  if (rect.y0 > rect.y1) std::swap(rect.y0, rect.y1);
  if (rect.width() == 0) rect.x1 < picture.x1 ? ++rect.x1 : --rect.x0;
  if (rect.height() == 0) rect.y1 < picture.y1 ? ++rect.y1 : --rect.y0;
  return rect;
}

}  // namespace scanline::render
