#pragma once

#include <cstddef>
#include <cstdint>

// The operators of a VideoMamba block on plain memory: one sequence, rows are tokens
// ([length][dim], channels contiguous), strides are elements from row to row. The reference
// functions at the end are the specification; every faster kernel is tested against them.
// docs/models.md has the formulas.

namespace scanline {

// The selective scan of one direction. For step s = 0, 1, ... over the tokens (from the last to the
// first when `reverse`), per channel d and state n:
//   dt = softplus(delta + delta_bias)      (softplus and bias where asked for)
//   h  = exp(dt A[d][n]) (h_prev + S) + dt B[n] u
//   y  = sum_n C[n] (h or, masked, h - dt B[n] u; masked at step 0: nothing) + D[d] u
// with h_prev = 0 or u of step 0 before the first step (`first_token_init`), and S the sum of the u
// of earlier steps (`cumulative`) or 0. Official code: selective_scan_interface.py,
// selective_scan_ref; VideoMambaPro's variants of it.
template <typename T>
struct SelectiveScan {
  int length = 0;
  int dim = 0;
  int state = 0;
  int groups = 1;  // channel d reads B and C of group d / (dim / groups)

  const T* u = nullptr;  // [length][dim]
  ptrdiff_t u_stride = 0;
  const T* delta = nullptr;  // [length][dim]
  ptrdiff_t delta_stride = 0;
  const T* a = nullptr;  // [dim][state]; -exp(A_log), so not positive
  const T* b = nullptr;  // [length][groups][state]
  const T* c = nullptr;
  ptrdiff_t bc_stride = 0;
  const T* d = nullptr;           // [dim], or none
  const T* delta_bias = nullptr;  // [dim], or none
  const T* z = nullptr;           // [length][dim]: y is multiplied by SiLU(z); or none
  ptrdiff_t z_stride = 0;
  T* y = nullptr;  // [length][dim]
  ptrdiff_t y_stride = 0;
  T* last_state = nullptr;  // [dim][state]: h after the last step; or none

  bool softplus = true;
  bool reverse = false;
  bool first_token_init = false;
  bool mask = false;
  bool cumulative = false;
  bool accumulate = false;  // y's old content is added, before the gate
};

// Depthwise convolution over time, causal, or anti-causal with reversed taps when `reverse`:
// out[t] = bias + sum_k weight[k] x[t - (width - 1) + k] (reverse: x[t + (width - 1) - k]), zeros
// outside, then SiLU where asked for. `out` must not overlap `x`.
template <typename T>
struct CausalConv {
  int length = 0;
  int dim = 0;
  int width = 4;
  const T* x = nullptr;
  ptrdiff_t x_stride = 0;
  const T* weight = nullptr;  // [dim][width]
  const T* bias = nullptr;    // [dim], or none
  T* out = nullptr;
  ptrdiff_t out_stride = 0;
  bool silu = true;
  bool reverse = false;
};

// residual_out = residual + x (x alone without a residual), out = norm(residual_out) * weight +
// bias. RMSNorm divides by sqrt(mean(v^2) + eps); LayerNorm takes the mean away first. Contiguous
// rows. residual_out may be residual; out may be x.
template <typename T>
struct AddNorm {
  int rows = 0;
  int dim = 0;
  const T* x = nullptr;
  const T* residual = nullptr;  // or none
  const T* weight = nullptr;    // [dim]
  const T* bias = nullptr;      // [dim], or none
  T eps = T(1e-5);
  bool layer_norm = false;
  T* residual_out = nullptr;
  T* out = nullptr;  // or none: only the addition
};

// out = x w^T + bias, then GELU (erf) where asked for. Every element is one chain of fused
// multiply-adds over `inner`, in order, from 0, and the bias after it: a row has the same bits
// whatever rows stand beside it and whichever kernel runs. `weight` is laid out by PackLinear; only
// the columns of panels [panel_begin, panel_end) are computed, so that threads can share the work.
// x and out may lie in blocks of 16 columns (tiles.h): x_block and out_block are the elements from
// one block to the next, 16 where rows are contiguous.
struct PackedLinear {
  int rows = 0;
  int inner = 0;
  int columns = 0;
  const float* x = nullptr;  // [rows][inner]
  ptrdiff_t x_stride = 0;
  ptrdiff_t x_block = 16;
  const float* weight = nullptr;  // [panels][inner][kPanel]
  const float* bias = nullptr;    // [columns], or none
  float* out = nullptr;           // [rows][columns]; not x
  ptrdiff_t out_stride = 0;
  ptrdiff_t out_block = 16;
  bool gelu = false;
  int panel_begin = 0;
  int panel_end = 0;

  ptrdiff_t XAt(int row, int k) const { return k / 16 * x_block + row * x_stride + k % 16; }
  ptrdiff_t OutAt(int row, int column) const {
    return column / 16 * out_block + row * out_stride + column % 16;
  }
  float Finished(float sum, int column) const;  // with bias and GELU
};

inline constexpr int kPanel = 32;  // columns

inline int PanelCount(int columns) { return (columns + kPanel - 1) / kPanel; }

// `columns` of weight rows, each [inner], into PanelCount(columns) * inner * kPanel floats; columns
// that fill up the last panel are zero.
void PackLinear(const float* const* columns, int count, int inner, float* packed);

// One head of softmax(scale q k^T) v.
template <typename T>
struct Attention {
  int queries = 0;
  int keys = 0;  // at least 1
  int dim = 0;
  const T* q = nullptr;  // [queries][dim]
  ptrdiff_t q_stride = 0;
  const T* k = nullptr;  // [keys][dim]
  ptrdiff_t k_stride = 0;
  const T* v = nullptr;  // [keys][dim]
  ptrdiff_t v_stride = 0;
  T scale = 1;
  T* out = nullptr;  // [queries][dim]
  ptrdiff_t out_stride = 0;
};

void PackedLinearReference(const PackedLinear& op);

// For float and double.
template <typename T>
void AttentionReference(const Attention<T>& op);
template <typename T>
void SelectiveScanReference(const SelectiveScan<T>& op);
template <typename T>
void CausalConvReference(const CausalConv<T>& op);
template <typename T>
void AddNormReference(const AddNorm<T>& op);

}  // namespace scanline
