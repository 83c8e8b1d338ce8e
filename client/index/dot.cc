#include "client/index/dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace scanline {

void DotRowsPlain(const float* rows, int64_t count, int dim, const float* query, float* out) {
  for (int64_t r = 0; r < count; ++r, rows += dim) {
    double sum = 0;
    for (int i = 0; i < dim; ++i) sum += double{rows[i]} * double{query[i]};
    out[r] = static_cast<float>(sum);
  }
}

#if defined(__x86_64__)
namespace {

__attribute__((target("avx2,fma"))) float Sum(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Four sums a row hide the latency of FMA; a row is then read as fast as memory gives it.
__attribute__((target("avx2,fma"))) void DotRowsAvx2(const float* rows, int64_t count, int dim,
                                                     const float* query, float* out) {
  constexpr int kLanes = 8;
  constexpr int kStep = 4 * kLanes;
  for (int64_t r = 0; r < count; ++r, rows += dim) {
    __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                     _mm256_setzero_ps()};
    int i = 0;
    for (; i + kStep <= dim; i += kStep) {
      for (int s = 0; s < 4; ++s) {
        const int at = i + s * kLanes;
        sum[s] = _mm256_fmadd_ps(_mm256_loadu_ps(rows + at), _mm256_loadu_ps(query + at), sum[s]);
      }
    }
    float total = Sum(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
    for (; i < dim; ++i) total += rows[i] * query[i];
    out[r] = total;
  }
}

}  // namespace
#endif

void DotRows(const float* rows, int64_t count, int dim, const float* query, float* out) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (kHasAvx2) return DotRowsAvx2(rows, count, dim, query, out);
#endif
  DotRowsPlain(rows, count, dim, query, out);
}

}  // namespace scanline
