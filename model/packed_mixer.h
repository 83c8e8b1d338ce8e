#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/weights.h"

namespace scanline {

// What the matrix products of the layers round their factors to; sums, states, norms and the
// residual stream are fp32 always.
enum class Precision { kFp32, kBf16 };

// Rows of a matrix product (kernels/ops.h, PackedLinear, has the strides).
struct ProductRows {
  int count = 0;
  const float* x = nullptr;
  ptrdiff_t x_stride = 0;
  ptrdiff_t x_block = kBlock;
  const float* bias = nullptr;
  float* out = nullptr;
  ptrdiff_t out_stride = 0;
  ptrdiff_t out_block = kBlock;
};

// The weight of a linear layer, laid out for the kernels.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `columns`: the rows of the weight, each [inner]; null is a column of zeros.
  PackedMatrix(std::vector<const float*> columns, int inner, Precision precision);

  int columns() const { return columns_; }
  int inner() const { return inner_; }
  int panels() const { return PanelCount(columns_); }
  size_t bytes() const { return bytes_; }

  // `scratch`: Bf16ScratchSize(rows.count, inner()), for kBf16.
  void Run(const Kernels& kernels, const ProductRows& rows, uint16_t* scratch) const;
  // The kPanel columns of one panel, to column 0 of rows.out; the panel must be a whole one, and
  // the matrix fp32.
  void RunPanel(const Kernels& kernels, const ProductRows& rows, int panel) const;

 private:
  PackedLinear Op(const ProductRows& rows) const;

  AlignedFloats floats_;  // fp32, or what holds the bf16 values
  bool bf16_ = false;
  int columns_ = 0;
  int inner_ = 0;
  size_t bytes_ = 0;
};

// Sizes as the kernels want them: filled up with zeros.
struct MixerShape {
  explicit MixerShape(const BackboneConfig& config);

  int channels;  // d_inner, whole panels
  int state;     // d_state, a multiple of kStates
  int b_at;      // x_proj gives rows of dt, then B at this column,
  int c_at;      // then C
  int row;       // columns from one row to the next
};

// One direction's parameters, in the layouts of kernels/tiles.h.
struct PackedDirection {
  AlignedFloats conv_weight;
  AlignedFloats conv_bias;
  PackedMatrix x_proj;
  PackedMatrix dt_proj;  // always fp32: its inner side is short
  AlignedFloats dt_bias;
  AlignedFloats d;
  AlignedFloats a2;
};

struct PackedMixer {
  // `prefix`: "layers.3.mixer.". With shared parameters the backward direction reads the forward
  // ones, but for A_b_log.
  static PackedMixer From(const Weights& weights, const std::string& prefix,
                          const BackboneConfig& config, Precision precision);

  PackedMatrix in_proj;  // x, then z
  PackedMatrix out_proj;
  PackedDirection forward;
  PackedDirection backward;
};

}  // namespace scanline
