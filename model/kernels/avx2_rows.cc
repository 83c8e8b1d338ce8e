#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/avx2_math.h"

// The norm.

namespace scanline {
namespace {

constexpr int kLanes = 8;

struct Sum {  // of eight floats a step, in double
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();

  void Add(__m256 x) {
    low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
    high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
  }
  double Total() const {
    alignas(32) double lanes[4];
    _mm256_store_pd(lanes, _mm256_add_pd(low, high));
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
};

// sum = residual + x; returns the sum of its elements.
double AddRow(const float* x, const float* residual, float* sum, int dim) {
  Sum total;
  int i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    __m256 v = _mm256_loadu_ps(x + i);
    if (residual != nullptr) v = _mm256_add_ps(_mm256_loadu_ps(residual + i), v);
    _mm256_storeu_ps(sum + i, v);
    total.Add(v);
  }
  double rest = 0;
  for (; i < dim; ++i) {
    sum[i] = residual != nullptr ? residual[i] + x[i] : x[i];
    rest += sum[i];
  }
  return total.Total() + rest;
}

double SquaresAround(const float* v, float mean, int dim) {
  Sum total;
  int i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    const __m256 centred = _mm256_sub_ps(_mm256_loadu_ps(v + i), Set(mean));
    total.Add(_mm256_mul_ps(centred, centred));
  }
  double rest = 0;
  for (; i < dim; ++i) rest += static_cast<double>(v[i] - mean) * (v[i] - mean);
  return total.Total() + rest;
}

void ScaleRow(const float* v, float mean, float scale, const float* weight, const float* bias,
              float* out, int dim) {
  int i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    __m256 y = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(v + i), Set(mean)), Set(scale));
    y = _mm256_mul_ps(y, _mm256_loadu_ps(weight + i));
    if (bias != nullptr) y = _mm256_add_ps(y, _mm256_loadu_ps(bias + i));
    _mm256_storeu_ps(out + i, y);
  }
  for (; i < dim; ++i) {
    out[i] = (v[i] - mean) * scale * weight[i] + (bias != nullptr ? bias[i] : 0.0f);
  }
}

}  // namespace

void AddNormAvx2(const AddNorm<float>& op) {
  for (int row = 0; row < op.rows; ++row) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * op.dim;
    float* v = op.residual_out + at;
    const double sum =
        AddRow(op.x + at, op.residual != nullptr ? op.residual + at : nullptr, v, op.dim);
    if (op.out == nullptr) continue;
    const float mean = op.layer_norm ? static_cast<float>(sum / op.dim) : 0.0f;
    const double variance = SquaresAround(v, mean, op.dim) / op.dim + static_cast<double>(op.eps);
    const double root = _mm_cvtsd_f64(_mm_sqrt_sd(_mm_set_sd(0), _mm_set_sd(variance)));
    ScaleRow(v, mean, static_cast<float>(1 / root), op.weight, op.bias, op.out + at, op.dim);
  }
}

}  // namespace scanline
