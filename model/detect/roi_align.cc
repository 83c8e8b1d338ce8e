#include "model/detect/roi_align.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace scanline {
namespace {

// A place along one axis: its two neighbours and the share of the second.
struct Tap {
  int low = 0;
  int high = 0;
  float share = 0;
  bool inside = false;
};

Tap TapAt(float at, int size) {
  if (at < -1.0F || at > static_cast<float>(size)) return {};
  at = std::max(at, 0.0F);
  const int low = static_cast<int>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0, true};
  return {low, low + 1, at - static_cast<float>(low), true};
}

void AddSample(const FeatureMap& map, const Tap& y, const Tap& x, float* out) {
  const auto at = [&](int row, int column) {
    return map.values + (static_cast<ptrdiff_t>(row) * map.width + column) * map.channels;
  };
  const float* a = at(y.low, x.low);
  const float* b = at(y.low, x.high);
  const float* c = at(y.high, x.low);
  const float* d = at(y.high, x.high);
  const float wa = (1 - y.share) * (1 - x.share);
  const float wb = (1 - y.share) * x.share;
  const float wc = y.share * (1 - x.share);
  const float wd = y.share * x.share;
  for (int i = 0; i < map.channels; ++i) out[i] += wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i];
}

// One axis of the grid.
struct Axis {
  float start = 0;
  float cell = 0;  // length of a cell
  int samples = 1;

  Axis(float from, float to, const RoiAlignOptions& options) {
    const float offset = options.aligned ? 0.5F : 0.0F;
    start = from - offset;
    float length = (to - offset) - start;
    if (!options.aligned) length = std::max(length, 1.0F);
    cell = length / static_cast<float>(options.size);
    samples =
        options.sampling_ratio > 0 ? options.sampling_ratio : static_cast<int>(std::ceil(cell));
  }

  float At(int index, int sample) const {
    return start + static_cast<float>(index) * cell +
           (static_cast<float>(sample) + 0.5F) * cell / static_cast<float>(samples);
  }
};

}  // namespace

void RoiAlign(const FeatureMap& map, const Roi& roi, const RoiAlignOptions& options, float* out) {
  const Axis rows(roi.y_min, roi.y_max, options);
  const Axis columns(roi.x_min, roi.x_max, options);
  const int count = std::max(rows.samples, 0) * std::max(columns.samples, 0);
  const auto total = static_cast<float>(std::max(count, 1));
  for (int row = 0; row < options.size; ++row) {
    for (int column = 0; column < options.size; ++column, out += map.channels) {
      std::fill(out, out + map.channels, 0.0F);
      for (int j = 0; j < rows.samples; ++j) {
        const Tap y = TapAt(rows.At(row, j), map.height);
        for (int i = 0; y.inside && i < columns.samples; ++i) {
          const Tap x = TapAt(columns.At(column, i), map.width);
          if (x.inside) AddSample(map, y, x, out);
        }
      }
      for (int i = 0; i < map.channels; ++i) out[i] /= total;
    }
  }
}

}  // namespace scanline
