#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scanline {

// A borrowed picture: RGB, 8 bit, `stride` bytes from row to row.
struct RgbView {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;

  const uint8_t* row(int y) const { return data + y * stride; }
};

struct RgbImage {
  std::vector<uint8_t> bytes;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;

  uint8_t* row(int y) { return bytes.data() + y * stride; }
  RgbView view() const { return {bytes.data(), width, height, stride}; }
};

// Keeps the memory when it suffices. `padding`: bytes that a SIMD writer may touch after a row.
inline void ShapeImage(RgbImage& image, int width, int height, int padding = 0) {
  image.width = width;
  image.height = height;
  image.stride = (ptrdiff_t{width} * 3 + padding + 63) / 64 * 64;
  image.bytes.resize(static_cast<size_t>(image.stride) * height);
}

}  // namespace scanline
