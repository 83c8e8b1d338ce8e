#include "decode/orientation.h"

#include <cstdlib>
#include <cstring>

namespace scanline {

Orientation OrientationFromMatrix(const int32_t* matrix) {
  if (matrix == nullptr) return {};
  const int64_t a = matrix[0], b = matrix[1], c = matrix[3], d = matrix[4];
  // `small` is negligible beside `large`: within 6 degrees of an axis.
  const auto dominates = [](int64_t large, int64_t small) {
    return std::llabs(large) > 10 * std::llabs(small);
  };
  if (dominates(a, b) && dominates(a, c) && dominates(d, b) && dominates(d, c)) {
    return {.transpose = false, .flip_x = a < 0, .flip_y = d < 0};
  }
  if (dominates(b, a) && dominates(b, d) && dominates(c, a) && dominates(c, d)) {
    return {.transpose = true, .flip_x = c < 0, .flip_y = b < 0};
  }
  return {};
}

int RotationCcw(const Orientation& o) {
  if (!o.transpose) return o.flip_y ? 180 : 0;
  // A transposition with one mirror is a quarter turn: with the vertical one, counter-clockwise.
  return o.flip_y ? 90 : 270;
}

void ApplyOrientation(const Orientation& orientation, const RgbView& stored, RgbImage& upright) {
  const int width = orientation.transpose ? stored.height : stored.width;
  const int height = orientation.transpose ? stored.width : stored.height;
  ShapeImage(upright, width, height);
  for (int y = 0; y < height; ++y) {
    const int v = orientation.flip_y ? height - 1 - y : y;
    uint8_t* out = upright.row(y);
    if (!orientation.transpose && !orientation.flip_x) {
      std::memcpy(out, stored.row(v), static_cast<size_t>(width) * 3);
      continue;
    }
    for (int x = 0; x < width; ++x) {
      const int u = orientation.flip_x ? width - 1 - x : x;
      const uint8_t* in = orientation.transpose ? stored.row(u) + 3 * ptrdiff_t{v}
                                                : stored.row(v) + 3 * ptrdiff_t{u};
      std::memcpy(out + 3 * ptrdiff_t{x}, in, 3);
    }
  }
}

}  // namespace scanline
