#pragma once

namespace scanline {

// Where a person is: sides in [0, 1] of the upright picture, x to the right and y downwards.
struct PersonBox {
  float x_min = 0;
  float y_min = 0;
  float x_max = 0;
  float y_max = 0;
  float score = 0;  // of being a person, in [0, 1]
};

}  // namespace scanline
