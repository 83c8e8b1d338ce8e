#include "model/person/parts.h"

namespace scanline {
namespace {

int PartSide(int whole) { return (3 * whole + 4) / 5; }

}  // namespace

std::vector<PicturePart> CornerParts(int width, int height) {
  const int w = PartSide(width);
  const int h = PartSide(height);
  return {{0, 0, w, h}, {width - w, 0, w, h}, {0, height - h, w, h}, {width - w, height - h, w, h}};
}

RgbPicture PartOf(const RgbPicture& picture, const PicturePart& part) {
  return {picture.data + part.y * picture.stride + ptrdiff_t{3} * part.x, part.width, part.height,
          picture.stride};
}

bool CutOff(const PersonBox& box, const PicturePart& part, const RgbPicture& whole) {
  constexpr float kMargin = 0.01F;  // What a box wavers by.
  return (part.x > 0 && box.x_min < kMargin) || (part.y > 0 && box.y_min < kMargin) ||
         (part.x + part.width < whole.width && box.x_max > 1 - kMargin) ||
         (part.y + part.height < whole.height && box.y_max > 1 - kMargin);
}

PersonBox InWhole(PersonBox box, const PicturePart& part, const RgbPicture& whole) {
  const auto width = static_cast<float>(whole.width);
  const auto height = static_cast<float>(whole.height);
  const auto x = [&](float at) {
    return (static_cast<float>(part.x) + at * static_cast<float>(part.width)) / width;
  };
  const auto y = [&](float at) {
    return (static_cast<float>(part.y) + at * static_cast<float>(part.height)) / height;
  };
  box.x_min = x(box.x_min);
  box.x_max = x(box.x_max);
  box.y_min = y(box.y_min);
  box.y_max = y(box.y_max);
  return box;
}

}  // namespace scanline
