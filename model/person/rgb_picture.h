#pragma once

#include <cstddef>
#include <cstdint>

namespace scanline {

// An upright RGB picture, borrowed for the call: 3 bytes a pixel, `stride` bytes from row to row.
struct RgbPicture {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;
};

// out[side][side][3] in [-1, 1], aspect not kept. Equal to TensorFlow 1's ResizeBilinear with
// neither aligned corners nor half-pixel centres: pixel i is sampled at i * size / side, from its
// two neighbours only, also where the picture shrinks. Width, height and side are at least 1.
void ResizeToSquare(const RgbPicture& picture, int side, float* out);

}  // namespace scanline
