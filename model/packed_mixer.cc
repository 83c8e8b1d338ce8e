#include "model/packed_mixer.h"

#include <algorithm>
#include <cmath>

namespace scanline {
namespace {

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }

AlignedFloats Zeros(size_t count) {
  AlignedFloats zeros = AllocateFloats(count);
  std::fill_n(zeros.get(), count, 0.0F);
  return zeros;
}

AlignedFloats Padded(const float* values, int count, int padded) {
  AlignedFloats out = Zeros(static_cast<size_t>(padded));
  std::copy(values, values + count, out.get());
  return out;
}

// [channels][width] to [padded / kBlock][padded_width][kBlock].
template <typename Value>
AlignedFloats Blocked(int channels, int width, int padded, int padded_width, const Value& value) {
  AlignedFloats out = Zeros(static_cast<size_t>(padded) * padded_width);
  for (int c = 0; c < channels; ++c) {
    float* block = out.get() + static_cast<ptrdiff_t>(c / kBlock) * padded_width * kBlock;
    for (int i = 0; i < width; ++i) block[i * kBlock + c % kBlock] = value(c, i);
  }
  return out;
}

// Rows of the weight `name`, `count` of them, from `first` on; filled up to `padded`.
void AppendRows(const Weights& weights, const std::string& name, int first, int count, int padded,
                std::vector<const float*>* rows) {
  const Tensor& weight = weights.Get(name);
  const int64_t inner = weight.shape[1];
  for (int i = 0; i < padded; ++i) {
    rows->push_back(i < count ? weight.data.get() + (first + i) * inner : nullptr);
  }
}

PackedDirection PackDirection(const Weights& weights, const std::string& prefix,
                              const std::string& suffix, const std::string& a_log,
                              const BackboneConfig& config, Precision precision) {
  const MixerShape shape(config);
  const int inner = config.d_inner();
  const int state = config.d_state;
  const int rank = config.dt_rank;
  PackedDirection direction;
  const float* taps = weights.Data(prefix + "conv1d" + suffix + ".weight");
  direction.conv_weight =
      Blocked(inner, config.d_conv, shape.channels, config.d_conv,
              [&](int c, int k) { return taps[static_cast<ptrdiff_t>(c) * config.d_conv + k]; });
  direction.conv_bias =
      Padded(weights.Data(prefix + "conv1d" + suffix + ".bias"), inner, shape.channels);
  std::vector<const float*> rows;
  const std::string x_proj = prefix + "x_proj" + suffix + ".weight";
  AppendRows(weights, x_proj, 0, rank, shape.b_at, &rows);
  AppendRows(weights, x_proj, rank, state, shape.c_at - shape.b_at, &rows);
  AppendRows(weights, x_proj, rank + state, state, shape.state, &rows);
  direction.x_proj = PackedMatrix(std::move(rows), inner, precision);
  rows = {};
  AppendRows(weights, prefix + "dt_proj" + suffix + ".weight", 0, inner, shape.channels, &rows);
  direction.dt_proj = PackedMatrix(std::move(rows), rank, Precision::kFp32);
  direction.dt_bias =
      Padded(weights.Data(prefix + "dt_proj" + suffix + ".bias"), inner, shape.channels);
  direction.d = Padded(weights.Data(prefix + "D" + suffix), inner, shape.channels);
  const float* logs = weights.Data(prefix + a_log);
  direction.a2 = Blocked(inner, state, shape.channels, shape.state, [&](int c, int n) {
    constexpr double kLog2E = 1.4426950408889634;
    return static_cast<float>(-std::exp(double{logs[static_cast<ptrdiff_t>(c) * state + n]}) *
                              kLog2E);
  });
  return direction;
}

}  // namespace

PackedMatrix::PackedMatrix(std::vector<const float*> columns, int inner, Precision precision)
    : bf16_(precision == Precision::kBf16),
      columns_(static_cast<int>(columns.size())),
      inner_(inner) {
  const std::vector<float> zeros(static_cast<size_t>(inner), 0.0F);
  std::replace(columns.begin(), columns.end(), static_cast<const float*>(nullptr), zeros.data());
  const size_t across = static_cast<size_t>(panels()) * kPanel;
  // A pair of bf16 values takes a float's place.
  const size_t floats = across * (bf16_ ? (static_cast<size_t>(inner) + 1) / 2 : inner);
  floats_ = AllocateFloats(floats);
  bytes_ = floats * sizeof(float);
  if (bf16_) {
    PackLinearBf16(columns.data(), columns_, inner, reinterpret_cast<uint16_t*>(floats_.get()));
  } else {
    PackLinear(columns.data(), columns_, inner, floats_.get());
  }
}

PackedLinear PackedMatrix::Op(const ProductRows& rows) const {
  return {.rows = rows.count,
          .inner = inner_,
          .columns = columns_,
          .x = rows.x,
          .x_stride = rows.x_stride,
          .x_block = rows.x_block,
          .weight = bf16_ ? nullptr : floats_.get(),
          .bias = rows.bias,
          .out = rows.out,
          .out_stride = rows.out_stride,
          .out_block = rows.out_block,
          .panel_end = panels()};
}

void PackedMatrix::Run(const Kernels& kernels, const ProductRows& rows, uint16_t* scratch) const {
  if (bf16_) {
    kernels.packed_linear_bf16({.shape = Op(rows),
                                .weight = reinterpret_cast<const uint16_t*>(floats_.get()),
                                .scratch = scratch});
  } else {
    kernels.packed_linear(Op(rows));
  }
}

void PackedMatrix::RunPanel(const Kernels& kernels, const ProductRows& rows, int panel) const {
  PackedLinear op = Op(rows);
  op.weight += static_cast<ptrdiff_t>(panel) * inner_ * kPanel;
  op.columns = kPanel;
  op.panel_end = 1;
  kernels.packed_linear(op);
}

MixerShape::MixerShape(const BackboneConfig& config)
    : channels(RoundUp(config.d_inner(), kPanel)),
      state(RoundUp(config.d_state, kStates)),
      b_at(RoundUp(config.dt_rank, kStates)),
      c_at(b_at + state),
      row(RoundUp(c_at + state, kBlock)) {}

PackedMixer PackedMixer::From(const Weights& weights, const std::string& prefix,
                              const BackboneConfig& config, Precision precision) {
  const MixerShape shape(config);
  const int inner = config.d_inner();
  PackedMixer mixer;
  std::vector<const float*> rows;
  AppendRows(weights, prefix + "in_proj.weight", 0, inner, shape.channels, &rows);
  AppendRows(weights, prefix + "in_proj.weight", inner, inner, shape.channels, &rows);
  mixer.in_proj = PackedMatrix(std::move(rows), config.embed_dim, precision);
  rows = {};
  AppendRows(weights, prefix + "out_proj.weight", 0, config.embed_dim, config.embed_dim, &rows);
  mixer.out_proj = PackedMatrix(std::move(rows), inner, precision);
  mixer.forward = PackDirection(weights, prefix, "", "A_log", config, precision);
  mixer.backward =
      PackDirection(weights, prefix, config.mixer.shared ? "" : "_b", "A_b_log", config, precision);
  return mixer;
}

}  // namespace scanline
