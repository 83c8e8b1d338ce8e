#include "model/position.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace scanline {
namespace {

struct Tap {
  int index;
  double weight;
};

int Clamp(int index, int size) { return std::clamp(index, 0, size - 1); }

// Keys' cubic convolution at distance x >= 0.
double Cubic(double x) {
  constexpr double kA = -0.75;
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
  return 0;
}

std::array<Tap, 4> CubicTaps(int to, int old_size, int new_size) {
  const double at = (to + 0.5) * old_size / new_size - 0.5;
  const int base = static_cast<int>(std::floor(at));
  std::array<Tap, 4> taps;
  for (int k = 0; k < 4; ++k) {
    const int index = base - 1 + k;
    taps[k] = {Clamp(index, old_size), Cubic(std::abs(at - index))};
  }
  return taps;
}

std::array<Tap, 2> LinearTaps(int to, int old_size, int new_size) {
  const double at = std::max((to + 0.5) * old_size / new_size - 0.5, 0.0);
  const int base = static_cast<int>(at);
  const double high = at - base;
  return {Tap{Clamp(base, old_size), 1 - high}, Tap{Clamp(base + 1, old_size), high}};
}

Tensor Shaped(int64_t rows, int64_t dim) {
  Tensor tensor{.shape = {1, rows, dim}};
  tensor.data = AllocateFloats(static_cast<size_t>(rows * dim));
  return tensor;
}

void Replace(const std::string& name, const Tensor& fitted, Weights* weights) {
  weights->Add(name, fitted.shape, {fitted.data.get(), static_cast<size_t>(fitted.size())});
}

}  // namespace

int GridOf(const Tensor& embedding) {
  const int64_t cells = embedding.shape[1] - 1;
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(cells))));
  return cells > 0 && side * side == cells ? static_cast<int>(side) : -1;
}

Tensor ResizeGrid(const Tensor& embedding, int rows, int columns) {
  const int old_grid = GridOf(embedding);
  const int64_t dim = embedding.shape[2];
  Tensor result = Shaped(1 + int64_t{rows} * columns, dim);
  const float* from = embedding.data.get();
  float* to = result.data.get();
  std::copy(from, from + dim, to);
  for (int y = 0; y < rows; ++y) {
    const auto row_taps = CubicTaps(y, old_grid, rows);
    for (int x = 0; x < columns; ++x) {
      const auto column_taps = CubicTaps(x, old_grid, columns);
      for (int64_t d = 0; d < dim; ++d) {
        double sum = 0;
        for (const Tap& row : row_taps) {
          for (const Tap& column : column_taps) {
            const int64_t cell = 1 + int64_t{row.index} * old_grid + column.index;
            sum += row.weight * column.weight * from[cell * dim + d];
          }
        }
        to[(1 + int64_t{y} * columns + x) * dim + d] = static_cast<float>(sum);
      }
    }
  }
  return result;
}

Tensor ResizeTime(const Tensor& embedding, int steps) {
  const int old_steps = static_cast<int>(embedding.shape[1]);
  const int64_t dim = embedding.shape[2];
  Tensor result = Shaped(steps, dim);
  for (int t = 0; t < steps; ++t) {
    for (int64_t d = 0; d < dim; ++d) {
      double sum = 0;
      for (const Tap& tap : LinearTaps(t, old_steps, steps)) {
        sum += tap.weight * embedding.data[tap.index * dim + d];
      }
      result.data[t * dim + d] = static_cast<float>(sum);
    }
  }
  return result;
}

absl::Status FitPositions(const BackboneConfig& config, bool fixed_size, Weights* weights) {
  const Tensor& space = weights->Get("pos_embed");
  if (GridOf(space) < 0) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("pos_embed has ", space.shape[1],
                                  " entries; expected one for cls and a square grid"));
  }
  if (fixed_size && GridOf(space) != config.grid()) {
    Replace("pos_embed", ResizeGrid(space, config.grid(), config.grid()), weights);
  }
  const Tensor& time = weights->Get("temporal_pos_embedding");
  if (time.shape[1] != config.steps()) {
    Replace("temporal_pos_embedding", ResizeTime(time, config.steps()), weights);
  }
  return absl::OkStatus();
}

}  // namespace scanline
