#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/kernels/tiles.h"

namespace scanline {
namespace {

template <typename T>
T Softplus(T x) {  // Without torch's threshold, which it equals to the last bits.
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <typename T>
T Silu(T x) {
  return x / (T(1) + std::exp(-x));
}

// Where (token, channel) of a tile lies.
ptrdiff_t At(int token, int channel) {
  return channel / kBlock * kTileBlock + token * kBlock + channel % kBlock;
}

// Row `token` of the tile, or of its neighbours.
template <typename T>
T Row(const ConvTile<T>& op, int token, int channel) {
  if (token < 0) return op.before != nullptr ? op.before[At(kTileTokens + token, channel)] : T(0);
  if (token < op.count) return op.x[At(token, channel)];
  const int beyond = token - op.count;
  return op.after != nullptr && beyond < op.after_count ? op.after[At(beyond, channel)] : T(0);
}

template <typename T>
void ScanStep(const ScanTile<T>& op, int token, int channel, bool reads) {
  const ptrdiff_t at = At(token, channel);
  const ptrdiff_t states = channel / kBlock * ptrdiff_t{kBlock} * op.state + channel % kBlock;
  const T u = op.u[at];
  const T dt = Softplus(op.delta[at] + op.delta_bias[channel]);
  const T dx = dt * u;
  T y = op.d[channel] * u;
  for (int n = 0; n < op.state; ++n) {
    T& h = op.h[states + n * ptrdiff_t{kBlock}];
    if (op.earlier != nullptr) h += op.earlier[channel];
    const T carried = std::exp2(dt * op.a2[states + n * ptrdiff_t{kBlock}]) * h;
    h = carried + dx * op.b[token * op.bc_stride + n];
    if (reads) y += op.c[token * op.bc_stride + n] * (op.mask ? carried : h);
  }
  if (op.earlier != nullptr) op.earlier[channel] += u;
  op.y[at] = y;
}

uint16_t ToBf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FromBf16(uint16_t value) {
  const uint32_t bits = uint32_t{value} << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

}  // namespace

template <typename T>
void ConvTileReference(const ConvTile<T>& op) {
  for (int token = 0; token < op.count; ++token) {
    for (int channel = 0; channel < op.channels; ++channel) {
      T sum = op.bias[channel];
      for (int k = 0; k < op.width; ++k) {
        const int from = op.reverse ? token + op.width - 1 - k : token - (op.width - 1) + k;
        const ptrdiff_t tap = (channel / kBlock * op.width + k) * ptrdiff_t{kBlock};
        sum += op.weight[tap + channel % kBlock] * Row(op, from, channel);
      }
      op.out[At(token, channel)] = Silu(sum);
    }
  }
}

template <typename T>
void ScanTileReference(const ScanTile<T>& op) {
  for (int step = 0; step < op.count; ++step) {
    const int token = op.reverse ? op.count - 1 - step : step;
    const bool reads = !(op.mask && op.first && step == 0);
    for (int channel = 0; channel < op.channels; ++channel) ScanStep(op, token, channel, reads);
  }
}

template <typename T>
void GateTileReference(const GateTile<T>& op) {
  for (int token = 0; token < op.count; ++token) {
    for (int channel = 0; channel < op.channels; ++channel) {
      const ptrdiff_t at = At(token, channel);
      const T sum = op.forward[at] + op.backward[at];
      op.out[at] = op.z != nullptr ? sum * Silu(op.z[at]) : sum;
    }
  }
}

template void ConvTileReference(const ConvTile<float>&);
template void ConvTileReference(const ConvTile<double>&);
template void ScanTileReference(const ScanTile<float>&);
template void ScanTileReference(const ScanTile<double>&);
template void GateTileReference(const GateTile<float>&);
template void GateTileReference(const GateTile<double>&);

void PackLinearBf16(const float* const* columns, int count, int inner, uint16_t* packed) {
  for (int panel = 0; panel < PanelCount(count); ++panel) {
    for (int k = 0; k < inner; k += 2) {
      for (int i = 0; i < kPanel; ++i) {
        const int column = panel * kPanel + i;
        for (int half = k; half < k + 2; ++half) {
          *packed++ = column < count && half < inner ? ToBf16(columns[column][half]) : uint16_t{0};
        }
      }
    }
  }
}

void PackedLinearBf16Reference(const PackedLinearBf16& op) {
  const PackedLinear& shape = op.shape;
  const ptrdiff_t pairs = (shape.inner + 1) / 2;
  const int end = std::min(shape.columns, shape.panel_end * kPanel);
  for (int row = 0; row < shape.rows; ++row) {
    for (int column = shape.panel_begin * kPanel; column < end; ++column) {
      const uint16_t* weight =
          op.weight + column / kPanel * pairs * kPanel * 2 + column % kPanel * 2;
      float sum = 0;
      for (int k = 0; k < shape.inner; ++k) {
        const float x = FromBf16(ToBf16(shape.x[shape.XAt(row, k)]));
        sum = std::fma(x, FromBf16(weight[k / 2 * ptrdiff_t{kPanel} * 2 + k % 2]), sum);
      }
      shape.out[shape.OutAt(row, column)] = shape.Finished(sum, column);
    }
  }
}

}  // namespace scanline
