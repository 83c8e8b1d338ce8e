#pragma once

#include <optional>

#include "base/box.h"
#include "base/clip.h"

namespace scanline {

// Where an upright frame lands in the picture that the model sees: the frame is resized to
// full_width x full_height, and the picture shows the part of valid_width x valid_height at (x, y)
// of that. Everything right of and below it is padding. All in pixels of the picture.
struct PictureGeometry {
  int frame_width = 0;
  int frame_height = 0;
  double full_width = 0;  // whole numbers but for kCentreSquareArea
  double full_height = 0;
  double x = 0;
  double y = 0;
  int valid_width = 0;
  int valid_height = 0;
  int width = 0;  // of the picture
  int height = 0;
};

// Of a frame of width x height pixels (at least 1; after rotation and, where the spec applies it,
// sample aspect; whether it does changes no position in [0, 1]). `spatial_view` <
// spec.spatial_views. The arithmetic that decode/picture.cc resizes and crops by, so both agree.
PictureGeometry GeometryOf(const FrameSpec& spec, int width, int height, int spatial_view = 0);

// Boxes in [0, 1] of the frame as displayed to pixels of the picture and back; straight lines, so
// what lies outside the picture maps to outside of it.
Box ToPicture(const PictureGeometry& geometry, const Box& box);
Box ToFrame(const PictureGeometry& geometry, const Box& box);

// The part of `box`, in [0, 1] of the frame, that the picture shows, in the picture's pixels;
// nullopt: none of it. With `inclusive` pixels are counted (DetectConfig::inclusive): a box ends
// with its last pixel, which is one pixel of the frame before its border.
std::optional<Box> VisibleBox(const PictureGeometry& geometry, const Box& box, bool inclusive);

}  // namespace scanline
