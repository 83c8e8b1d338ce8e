#include "base/picture_geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace scanline {
namespace {

// Of the official loaders: the short side becomes `size`, the long one is truncated. Far longer
// ones than any picture has stop at what an int holds.
int Resized(int size, int side, int shorter) {
  return static_cast<int>(std::min(int64_t{size} * side / shorter, int64_t{1} << 30));
}

// One crop is the validation transform's, in the middle, rounded half to even; several are the test
// transform's, along the long side, truncated.
int CropAt(int room, int view, int views) {
  if (views == 1) return static_cast<int>(std::nearbyint(room / 2.0));
  return static_cast<int>(view * (static_cast<double>(room) / (views - 1)));
}

int PaddedTo(int multiple, int side) { return (side + multiple - 1) / multiple * multiple; }

}  // namespace

PictureGeometry GeometryOf(const FrameSpec& spec, int width, int height, int spatial_view) {
  const int size = spec.size;
  const int shorter = std::min(width, height);
  PictureGeometry g = {.frame_width = width,
                       .frame_height = height,
                       .full_width = static_cast<double>(size),
                       .full_height = static_cast<double>(size),
                       .valid_width = size,
                       .valid_height = size,
                       .width = size,
                       .height = size};
  if (spec.resize == ResizeRule::kSquareBicubic) return g;
  if (spec.resize == ResizeRule::kCentreSquareArea) {
    const double scale = static_cast<double>(size) / shorter;
    g.full_width = width * scale;
    g.full_height = height * scale;
    const int left = (width - shorter) / 2;  // whole pixels of the frame are left out
    const int top = (height - shorter) / 2;
    g.x = left * scale;
    g.y = top * scale;
    return g;
  }
  const int full_width = Resized(size, width, shorter);
  const int full_height = Resized(size, height, shorter);
  g.full_width = full_width;
  g.full_height = full_height;
  if (spec.resize == ResizeRule::kShortSide256Pad16) {
    g.valid_width = full_width;
    g.valid_height = full_height;
    g.width = PaddedTo(spec.pad_multiple, full_width);
    g.height = PaddedTo(spec.pad_multiple, full_height);
    return g;
  }
  const int at = CropAt(std::max(full_width, full_height) - size, spatial_view, spec.spatial_views);
  (full_width > full_height ? g.x : g.y) = at;
  return g;
}

Box ToPicture(const PictureGeometry& g, const Box& box) {
  return {box.x_min * g.full_width - g.x, box.y_min * g.full_height - g.y,
          box.x_max * g.full_width - g.x, box.y_max * g.full_height - g.y};
}

Box ToFrame(const PictureGeometry& g, const Box& box) {
  return {(box.x_min + g.x) / g.full_width, (box.y_min + g.y) / g.full_height,
          (box.x_max + g.x) / g.full_width, (box.y_max + g.y) / g.full_height};
}

std::optional<Box> VisibleBox(const PictureGeometry& g, const Box& box, bool inclusive) {
  Box seen = ToPicture(g, box);
  if (seen.x_min >= g.valid_width || seen.y_min >= g.valid_height || seen.x_max <= 0 ||
      seen.y_max <= 0) {
    return std::nullopt;
  }
  seen = {std::max(seen.x_min, 0.0), std::max(seen.y_min, 0.0),
          std::min<double>(seen.x_max, g.valid_width),
          std::min<double>(seen.y_max, g.valid_height)};
  if (inclusive) {
    seen.x_max = std::max(seen.x_min, seen.x_max - g.full_width / g.frame_width);
    seen.y_max = std::max(seen.y_min, seen.y_max - g.full_height / g.frame_height);
  }
  return seen;
}

}  // namespace scanline
