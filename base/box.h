#pragma once

namespace scanline {

// A rectangle in a picture: x to the right, y downwards; the unit is said where one is used.
struct Box {
  double x_min = 0;
  double y_min = 0;
  double x_max = 0;
  double y_max = 0;

  bool operator==(const Box&) const = default;
};

}  // namespace scanline
