#pragma once

#include <cstddef>
#include <cstdint>

namespace scanline::render {

struct Color {
  uint8_t red = 255;
  uint8_t green = 255;
  uint8_t blue = 255;

  bool operator==(const Color&) const = default;
};

// Colour number `i` (of a class, a person, a text), again and again from the first: those that
// Okabe and Ito chose so that readers with any kind of colour vision tell them apart, without
// black.
Color PaletteColor(size_t i);

// Black or white, whichever is easier to read on `background` (WCAG 2 relative luminance).
Color InkOn(Color background);

}  // namespace scanline::render
