#include <immintrin.h>

#include "model/kernels/avx512.h"

// The norm: rows of any width, the last lanes by mask.

namespace scanline {
namespace {

constexpr int kLanes = 16;

__mmask16 LanesFrom(int i, int dim) {
  return static_cast<__mmask16>(dim - i >= kLanes ? 0xffff : (1 << (dim - i)) - 1);
}

struct Sum {  // of sixteen floats a step, in double
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();

  void Add(__m512 x) {
    const __m512d upper = _mm512_castps_pd(x);
    const __m256 second = _mm256_castpd_ps(_mm512_extractf64x4_pd(upper, 1));
    low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
    high = _mm512_add_pd(high, _mm512_cvtps_pd(second));
  }
  double Total() const { return _mm512_reduce_add_pd(_mm512_add_pd(low, high)); }
};

// sum = residual + x; returns the sum of its elements.
double AddRow(const float* x, const float* residual, float* sum, int dim) {
  Sum total;
  for (int i = 0; i < dim; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, dim);
    __m512 v = _mm512_maskz_loadu_ps(lanes, x + i);
    if (residual != nullptr) v = _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, residual + i), v);
    _mm512_mask_storeu_ps(sum + i, lanes, v);
    total.Add(v);
  }
  return total.Total();
}

double SquaresAround(const float* v, float mean, int dim) {
  Sum total;
  for (int i = 0; i < dim; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, dim);
    const __m512 value = _mm512_maskz_loadu_ps(lanes, v + i);
    const __m512 centred = _mm512_maskz_sub_ps(lanes, value, _mm512_set1_ps(mean));
    total.Add(_mm512_mul_ps(centred, centred));
  }
  return total.Total();
}

void ScaleRow(const float* v, float mean, float scale, const float* weight, const float* bias,
              float* out, int dim) {
  for (int i = 0; i < dim; i += kLanes) {
    const __mmask16 lanes = LanesFrom(i, dim);
    __m512 y = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, v + i), _mm512_set1_ps(mean));
    y = _mm512_mul_ps(_mm512_mul_ps(y, _mm512_set1_ps(scale)),
                      _mm512_maskz_loadu_ps(lanes, weight + i));
    if (bias != nullptr) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(lanes, bias + i));
    _mm512_mask_storeu_ps(out + i, lanes, y);
  }
}

}  // namespace

void AddNormAvx512(const AddNorm<float>& op) {
  for (int row = 0; row < op.rows; ++row) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.dim;
    float* v = op.residual_out + at;
    const double sum =
        AddRow(op.x + at, op.residual != nullptr ? op.residual + at : nullptr, v, op.dim);
    if (op.out == nullptr) continue;
    const float mean = op.layer_norm ? static_cast<float>(sum / op.dim) : 0.0f;
    const double variance = SquaresAround(v, mean, op.dim) / op.dim + static_cast<double>(op.eps);
    const double root = _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(variance)));
    ScaleRow(v, mean, static_cast<float>(1 / root), op.weight, op.bias, op.out + at, op.dim);
  }
}

}  // namespace scanline
