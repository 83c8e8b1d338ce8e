#include "client/render/palette.h"

#include <array>
#include <cmath>

namespace scanline::render {
namespace {

// M. Okabe, K. Ito: Color Universal Design (2008), the eight colours without black. The order keeps
// neighbours far apart.
constexpr std::array<Color, 7> kPalette = {{{86, 180, 233},
                                            {230, 159, 0},
                                            {0, 158, 115},
                                            {240, 228, 66},
                                            {204, 121, 167},
                                            {213, 94, 0},
                                            {0, 114, 178}}};

// https://www.w3.org/TR/WCAG21/#dfn-relative-luminance
double Linear(uint8_t channel) {
  const double s = channel / 255.0;
  return s <= 0.03928 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
}

}  // namespace

Color PaletteColor(size_t i) { return kPalette[i % kPalette.size()]; }

Color InkOn(Color background) {
  const double luminance = 0.2126 * Linear(background.red) + 0.7152 * Linear(background.green) +
                           0.0722 * Linear(background.blue);
  // The contrast with black, (L + 0.05) / 0.05, against that with white, 1.05 / (L + 0.05).
  const bool black = (luminance + 0.05) * (luminance + 0.05) > 1.05 * 0.05;
  return black ? Color{0, 0, 0} : Color{255, 255, 255};
}

}  // namespace scanline::render
