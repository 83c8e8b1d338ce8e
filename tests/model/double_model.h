#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/weights.h"

// The whole backbone once more, in double and as plainly as it can be written, from the formulas of
// docs/models.md: for the settings that have no reference vectors. Shares no code with model/.

namespace scanline::testing {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // [tokens][dim]

class DoubleModel {
 public:
  DoubleModel(const BackboneConfig& config, const Weights& weights) : c_(config), w_(weights) {}

  // `video`: [3][frames][height][width]. Pooled features.
  Row Run(const std::vector<float>& video) const {
    Rows residual = Embed(video);  // spatial first, always
    for (int layer = 0; layer < c_.depth; ++layer) {
      const std::string name = "layers." + std::to_string(layer) + ".";
      const bool temporal = c_.scan_order == ScanOrder::kTemporalFirst ||
                            (c_.scan_order == ScanOrder::kAlternating && layer % 2 == 1);
      Rows x;
      for (const Row& row : residual) x.push_back(Norm(row, name + "norm"));
      if (temporal) x = ToTemporal(x);
      Rows y = Mixer(x, name + "mixer.");
      if (temporal) y = FromTemporal(y);
      for (size_t t = 0; t < y.size(); ++t) Accumulate(y[t], residual[t]);
    }
    for (Row& row : residual) row = Norm(row, "norm_f");
    return Pool(residual);
  }

  // One mixer over tokens in scan order.
  Rows Mixer(const Rows& x, const std::string& name) const {
    const size_t inner = c_.d_inner();
    Rows xs, zs;
    for (const Row& row : x) {
      const Row xz = Product(name + "in_proj.weight", row);
      xs.emplace_back(xz.begin(), xz.begin() + static_cast<ptrdiff_t>(inner));
      zs.emplace_back(xz.begin() + static_cast<ptrdiff_t>(inner), xz.end());
    }
    Rows sum = Direction(xs, xs, name, "", "A_log", false);
    // Backward: everything reversed; with shared parameters the convolution is not.
    Rows backward;
    if (c_.mixer.shared) {
      backward = Direction(Reversed(xs), xs, name, "", "A_b_log", true);
    } else {
      backward = Direction(Reversed(xs), Reversed(xs), name, "_b", "A_b_log", true);
    }
    backward = Reversed(backward);
    Rows out;
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t d = 0; d < inner; ++d) {
        sum[t][d] += backward[t][d];
        if (c_.mixer.gate) sum[t][d] *= Silu(zs[t][d]);
      }
      out.push_back(Product(name + "out_proj.weight", sum[t]));
    }
    return out;
  }

 private:
  static double Silu(double v) { return v / (1 + std::exp(-v)); }
  static Rows Reversed(const Rows& rows) { return {rows.rbegin(), rows.rend()}; }
  static void Accumulate(const Row& from, Row& to) {
    for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  }

  Row Product(const std::string& matrix, const Row& v) const {
    const Tensor& m = w_.Get(matrix);
    const size_t columns = v.size();
    Row out(m.size() / columns, 0.0);
    for (size_t r = 0; r < out.size(); ++r) {
      for (size_t i = 0; i < columns; ++i) out[r] += double{m.data[r * columns + i]} * v[i];
    }
    return out;
  }

  Row Norm(const Row& v, const std::string& name) const {
    const bool layer = c_.norm == NormKind::kLayer;
    double mean = 0, squares = 0;
    for (double value : v) mean += layer ? value / static_cast<double>(v.size()) : 0;
    for (double value : v) squares += (value - mean) * (value - mean);
    const double root = std::sqrt(squares / static_cast<double>(v.size()) + c_.norm_eps);
    const float* weight = w_.Data(name + ".weight");
    const float* bias = layer ? w_.Data(name + ".bias") : nullptr;
    Row out;
    for (size_t i = 0; i < v.size(); ++i) {
      out.push_back((v[i] - mean) / root * weight[i] + (layer ? bias[i] : 0));
    }
    return out;
  }

  // One direction in its own scan order. `conv_in` is what the convolution reads; where it is not
  // in scan order (shared parameters), the convolution runs first and is reversed after.
  Rows Direction(const Rows& x, const Rows& conv_in, const std::string& name,
                 const std::string& suffix, const std::string& a_log, bool backward) const {
    const int length = static_cast<int>(x.size());
    const int inner = c_.d_inner(), rank = c_.dt_rank, states = c_.d_state, width = c_.d_conv;
    const float* taps = w_.Data(name + "conv1d" + suffix + ".weight");
    const float* conv_bias = w_.Data(name + "conv1d" + suffix + ".bias");
    Rows conv(length, Row(inner));
    for (int t = 0; t < length; ++t) {
      for (int d = 0; d < inner; ++d) {
        double v = conv_bias[d];
        for (int k = 0; k < width; ++k) {
          const int from = t - (width - 1) + k;
          if (from >= 0) v += double{taps[d * width + k]} * conv_in[from][d];
        }
        conv[t][d] = Silu(v);
      }
    }
    if (backward && c_.mixer.shared) conv = Reversed(conv);

    const bool raw = c_.mixer.scan_input == MixerConfig::ScanInput::kRaw;
    const bool masked = backward && c_.mixer.mask_backward;
    const bool cumulative = c_.mixer.residual == MixerConfig::Residual::kCumulative;
    const Rows& u = raw ? x : conv;
    const float* logs = w_.Data(name + a_log);
    const float* dt_bias = w_.Data(name + "dt_proj" + suffix + ".bias");
    const float* skip = w_.Data(name + "D" + suffix);
    const std::string x_proj = name + "x_proj" + suffix + ".weight";
    const std::string dt_proj = name + "dt_proj" + suffix + ".weight";
    std::vector<Row> h(inner, Row(states, 0.0));
    if (c_.mixer.init == MixerConfig::Init::kFirstToken) {
      for (int d = 0; d < inner; ++d) h[d].assign(states, u[0][d]);
    }
    Row earlier(inner, 0.0);
    Rows y(length, Row(inner));
    for (int t = 0; t < length; ++t) {
      const Row dbl = Product(x_proj, conv[t]);
      const Row dt = Product(dt_proj, Row(dbl.begin(), dbl.begin() + rank));
      for (int d = 0; d < inner; ++d) {
        const double delta = std::log1p(std::exp(dt[d] + double{dt_bias[d]}));
        double read = 0;
        for (int n = 0; n < states; ++n) {
          const double a = -std::exp(double{logs[d * states + n]});
          const double own = delta * dbl[rank + n] * u[t][d];
          h[d][n] = std::exp(delta * a) * (h[d][n] + (cumulative ? earlier[d] : 0)) + own;
          const double seen = !masked ? h[d][n] : t == 0 ? 0 : h[d][n] - own;
          read += dbl[rank + states + n] * seen;
        }
        earlier[d] += u[t][d];
        y[t][d] = read + double{skip[d]} * u[t][d];
      }
    }
    return y;
  }

  Rows Embed(const std::vector<float>& video) const {
    const int dim = c_.embed_dim, patch = c_.patch;
    const int rows = Height() / patch, columns = Width() / patch;
    const float* weight = w_.Data("patch_embed.proj.weight");
    const float* space = w_.Data("pos_embed");
    Rows tokens(1, Row(dim));
    for (int i = 0; i < dim; ++i) tokens[0][i] = double{w_.Data("cls_token")[i]} + space[i];
    for (int t = 0; t < c_.steps(); ++t) {
      for (int gy = 0; gy < rows; ++gy) {
        for (int gx = 0; gx < columns; ++gx) {
          Row token(dim);
          for (int i = 0; i < dim; ++i) {
            double v = w_.Data("patch_embed.proj.bias")[i];
            const float* w = weight + static_cast<ptrdiff_t>(i) * 3 * c_.tubelet * patch * patch;
            for (int ch = 0; ch < 3; ++ch) {
              for (int k = 0; k < c_.tubelet; ++k) {
                for (int y = 0; y < patch; ++y) {
                  for (int x = 0; x < patch; ++x) {
                    const size_t frame = static_cast<size_t>(ch) * c_.frames + t * c_.tubelet + k;
                    v += double{*w++} *
                         video[(frame * Height() + gy * patch + y) * Width() + gx * patch + x];
                  }
                }
              }
            }
            token[i] = v + space[(1 + gy * columns + gx) * dim + i] +
                       w_.Data("temporal_pos_embedding")[t * dim + i];
          }
          tokens.push_back(token);
        }
      }
    }
    return tokens;
  }

  size_t Spatial(int t, int p) const { return 1 + static_cast<size_t>(t) * Cells() + p; }
  size_t Temporal(int t, int p) const { return 1 + static_cast<size_t>(p) * c_.steps() + t; }
  int Height() const { return c_.height > 0 ? c_.height : c_.size; }
  int Width() const { return c_.width > 0 ? c_.width : c_.size; }
  int Cells() const { return Height() / c_.patch * (Width() / c_.patch); }

  Rows ToTemporal(const Rows& rows) const {
    Rows out = rows;
    for (int t = 0; t < c_.steps(); ++t) {
      for (int p = 0; p < Cells(); ++p) out[Temporal(t, p)] = rows[Spatial(t, p)];
    }
    return out;
  }
  Rows FromTemporal(const Rows& rows) const {
    Rows out = rows;
    for (int t = 0; t < c_.steps(); ++t) {
      for (int p = 0; p < Cells(); ++p) out[Spatial(t, p)] = rows[Temporal(t, p)];
    }
    return out;
  }

  Row Pool(const Rows& n) const {
    if (c_.pool == PoolKind::kCls) return n[0];
    Row pooled, deltas, tops;
    for (int i = 0; i < c_.embed_dim; ++i) {
      double all = 0, early = 0, late = 0, top = -HUGE_VAL;
      const int half = c_.steps() / 2;
      for (int t = 0; t < c_.steps(); ++t) {
        for (int p = 0; p < Cells(); ++p) {
          const double v = n[Spatial(t, p)][i];
          all += v;
          if (t < half) early += v;
          if (t >= c_.steps() - half) late += v;
          top = std::max(top, v);
        }
      }
      all /= c_.steps() * Cells();
      pooled.push_back(c_.pool == PoolKind::kAvg ? all : all + n[0][i]);
      deltas.push_back(half == 0 ? 0 : (late - early) / (half * Cells()));
      tops.push_back(top);
    }
    if (c_.pool == PoolKind::kClsPlusAvgDeltaMax) {
      pooled.insert(pooled.end(), deltas.begin(), deltas.end());
      pooled.insert(pooled.end(), tops.begin(), tops.end());
    }
    return pooled;
  }

  const BackboneConfig& c_;
  const Weights& w_;
};

}  // namespace scanline::testing
