#pragma once

#include <cstdint>

#include "decode/rgb_image.h"

namespace scanline {

struct Size {
  int width = 0;
  int height = 0;
};

struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// The part `crop` of `in` resized to `full`, row after row into `out` [crop.height, crop.width, 3].
// Bit-equal to OpenCV's INTER_LINEAR on 8 bit (imgproc/resize.cpp: 11-bit coefficients, no
// anti-aliasing, halving by the mean of 2x2). Only the crop is computed, so a very wide picture
// costs no more than a square one.
void ResizeLinear(const RgbView& in, Size full, Rect crop, uint8_t* out);

// `square` of `in` to size x size: the exact mean over each output pixel's area, rounded half up.
void ResizeArea(const RgbView& in, Rect square, int size, uint8_t* out);

// All of `in` to size x size: bicubic (a = -0.75) in float without anti-aliasing, rounded half to
// even, as PyTorch's interpolate does for the multimodal loader.
void ResizeBicubic(const RgbView& in, int size, uint8_t* out);

}  // namespace scanline
