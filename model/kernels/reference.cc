// The specification: obvious loops, no other virtue.
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/kernels/ops.h"

namespace scanline {
namespace {

template <typename T>
T Softplus(T x) {  // The official code's threshold: torch.nn.functional.softplus.
  return x > T(20) ? x : std::log1p(std::exp(x));
}

template <typename T>
T Silu(T x) {
  return x / (T(1) + std::exp(-x));
}

float Gelu(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678118654752f)); }

template <typename T>
void ScanChannel(const SelectiveScan<T>& op, int channel, std::vector<T>& h) {
  const int group = channel / (op.dim / op.groups);
  const T* a = op.a + static_cast<ptrdiff_t>(channel) * op.state;
  const ptrdiff_t first = op.reverse ? op.length - 1 : 0;
  h.assign(op.state, op.first_token_init ? op.u[first * op.u_stride + channel] : T(0));
  T earlier = T(0);  // S
  for (int step = 0; step < op.length; ++step) {
    const ptrdiff_t t = op.reverse ? op.length - 1 - step : step;
    const T u = op.u[t * op.u_stride + channel];
    const T* b = op.b + t * op.bc_stride + static_cast<ptrdiff_t>(group) * op.state;
    const T* c = op.c + t * op.bc_stride + static_cast<ptrdiff_t>(group) * op.state;
    T dt = op.delta[t * op.delta_stride + channel];
    if (op.delta_bias != nullptr) dt += op.delta_bias[channel];
    if (op.softplus) dt = Softplus(dt);

    T read = T(0);
    for (int n = 0; n < op.state; ++n) {
      const T carried = std::exp(dt * a[n]) * (h[n] + earlier);
      h[n] = carried + dt * b[n] * u;
      if (!op.mask) read += c[n] * h[n];
      if (op.mask && step > 0) read += c[n] * carried;
    }
    if (op.cumulative) earlier += u;

    T y = read;
    if (op.d != nullptr) y += op.d[channel] * u;
    T& out = op.y[t * op.y_stride + channel];
    if (op.accumulate) y += out;
    if (op.z != nullptr) y *= Silu(op.z[t * op.z_stride + channel]);
    out = y;
  }
  if (op.last_state != nullptr) {
    for (int n = 0; n < op.state; ++n) {
      op.last_state[static_cast<ptrdiff_t>(channel) * op.state + n] = h[n];
    }
  }
}

}  // namespace

template <typename T>
void SelectiveScanReference(const SelectiveScan<T>& op) {
  if (op.length == 0) return;
  std::vector<T> h;
  for (int channel = 0; channel < op.dim; ++channel) ScanChannel(op, channel, h);
}

template <typename T>
void CausalConvReference(const CausalConv<T>& op) {
  for (int t = 0; t < op.length; ++t) {
    for (int channel = 0; channel < op.dim; ++channel) {
      T sum = op.bias != nullptr ? op.bias[channel] : T(0);
      for (int k = 0; k < op.width; ++k) {
        const int from = op.reverse ? t + op.width - 1 - k : t - (op.width - 1) + k;
        if (from < 0 || from >= op.length) continue;
        sum += op.weight[static_cast<ptrdiff_t>(channel) * op.width + k] *
               op.x[from * op.x_stride + channel];
      }
      op.out[t * op.out_stride + channel] = op.silu ? Silu(sum) : sum;
    }
  }
}

template <typename T>
void AddNormReference(const AddNorm<T>& op) {
  for (int row = 0; row < op.rows; ++row) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.dim;
    T* sum = op.residual_out + at;
    for (int i = 0; i < op.dim; ++i) {
      sum[i] = op.residual != nullptr ? op.residual[at + i] + op.x[at + i] : op.x[at + i];
    }
    if (op.out == nullptr) continue;
    double mean = 0;
    for (int i = 0; op.layer_norm && i < op.dim; ++i) mean += sum[i];
    mean /= op.dim;
    double squares = 0;
    for (int i = 0; i < op.dim; ++i) squares += (sum[i] - mean) * (sum[i] - mean);
    const double scale = 1 / std::sqrt(squares / op.dim + op.eps);
    for (int i = 0; i < op.dim; ++i) {
      const T normed = static_cast<T>((sum[i] - mean) * scale) * op.weight[i];
      op.out[at + i] = op.bias != nullptr ? normed + op.bias[i] : normed;
    }
  }
}

void PackLinear(const float* const* columns, int count, int inner, float* packed) {
  for (int panel = 0; panel < PanelCount(count); ++panel) {
    for (int k = 0; k < inner; ++k) {
      for (int i = 0; i < kPanel; ++i) {
        const int column = panel * kPanel + i;
        *packed++ = column < count ? columns[column][k] : 0.0f;
      }
    }
  }
}

float PackedLinear::Finished(float sum, int column) const {
  if (bias != nullptr) sum += bias[column];
  return gelu ? Gelu(sum) : sum;
}

void PackedLinearReference(const PackedLinear& op) {
  for (int row = 0; row < op.rows; ++row) {
    for (int panel = op.panel_begin; panel < op.panel_end; ++panel) {
      const float* w = op.weight + static_cast<ptrdiff_t>(panel) * op.inner * kPanel;
      float sums[kPanel] = {};
      for (int k = 0; k < op.inner; ++k) {
        const float x = op.x[op.XAt(row, k)];
        for (float& sum : sums) sum = std::fma(x, *w++, sum);
      }
      for (int column = panel * kPanel; column < std::min(op.columns, (panel + 1) * kPanel);
           ++column) {
        op.out[op.OutAt(row, column)] = op.Finished(sums[column % kPanel], column);
      }
    }
  }
}

template <typename T>
void AttentionReference(const Attention<T>& op) {
  std::vector<double> weights(static_cast<size_t>(op.keys));
  for (int row = 0; row < op.queries; ++row) {
    const T* q = op.q + row * op.q_stride;
    for (int j = 0; j < op.keys; ++j) {
      weights[j] = 0;
      for (int d = 0; d < op.dim; ++d) weights[j] += double{q[d]} * op.k[j * op.k_stride + d];
      weights[j] *= op.scale;
    }
    const double most = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - most);
    for (int d = 0; d < op.dim; ++d) {
      double sum = 0;
      for (int j = 0; j < op.keys; ++j) sum += weights[j] * op.v[j * op.v_stride + d];
      op.out[row * op.out_stride + d] = static_cast<T>(sum / total);
    }
  }
}

template void AttentionReference(const Attention<float>&);
template void AttentionReference(const Attention<double>&);
template void SelectiveScanReference(const SelectiveScan<float>&);
template void SelectiveScanReference(const SelectiveScan<double>&);
template void CausalConvReference(const CausalConv<float>&);
template void CausalConvReference(const CausalConv<double>&);
template void AddNormReference(const AddNorm<float>&);
template void AddNormReference(const AddNorm<double>&);

}  // namespace scanline
