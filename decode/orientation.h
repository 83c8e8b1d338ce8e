#pragma once

#include <cstdint>

#include "decode/rgb_image.h"

namespace scanline {

// How a stored picture becomes upright: first swap the axes (transpose), then mirror. The eight
// combinations are the eight orientations of a rectangle.
struct Orientation {
  bool transpose = false;
  bool flip_x = false;  // left and right, after the transposition
  bool flip_y = false;

  bool operator==(const Orientation&) const = default;
};

// From the nine numbers of a display matrix (ISO/IEC 14496-12 6.2.2, as libavutil/display.h lays
// them out): a point (x, y) goes to (a x + c y, b x + d y). The full 2x2 part counts, so mirrors
// are seen. A matrix that is not near a multiple of 90 degrees, or null, leaves the picture as it
// is.
Orientation OrientationFromMatrix(const int32_t* matrix);

// Degrees of the counter-clockwise turn in it: 0, 90, 180 or 270; mirrors: the turn after a
// left-right mirror.
int RotationCcw(const Orientation& orientation);

void ApplyOrientation(const Orientation& orientation, const RgbView& stored, RgbImage& upright);

}  // namespace scanline
