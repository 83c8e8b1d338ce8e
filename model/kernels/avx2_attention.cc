#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/avx2_math.h"

namespace scanline {
namespace {

constexpr int kLanes = 8;
constexpr int kQueries = 4;  // at a time; AttentionScratchFloats has room for their scores

struct Scratch {
  float* keys;    // [dim][padded]: transposed, so that a vector holds eight keys
  float* scores;  // [kQueries][padded]
  int padded;     // keys, filled up with zeros to whole vectors
};

Scratch Transpose(const Attention<float>& op, float* memory) {
  const int padded = (op.keys + kLanes - 1) / kLanes * kLanes;
  const Scratch scratch{memory, memory + static_cast<ptrdiff_t>(op.dim) * padded, padded};
  for (int d = 0; d < op.dim; ++d) {
    float* row = scratch.keys + static_cast<ptrdiff_t>(d) * padded;
    for (int j = 0; j < op.keys; ++j) row[j] = op.k[j * op.k_stride + d];
    for (int j = op.keys; j < padded; ++j) row[j] = 0;
  }
  return scratch;
}

template <int kCount>
void Scores(const Attention<float>& op, const float* q, const Scratch& scratch) {
  for (int j = 0; j < scratch.padded; j += kLanes) {
    __m256 sum[kCount];
    for (int r = 0; r < kCount; ++r) sum[r] = _mm256_setzero_ps();
    for (int d = 0; d < op.dim; ++d) {
      const __m256 keys =
          _mm256_loadu_ps(scratch.keys + static_cast<ptrdiff_t>(d) * scratch.padded + j);
      for (int r = 0; r < kCount; ++r) {
        sum[r] = _mm256_fmadd_ps(Set(q[r * op.q_stride + d]), keys, sum[r]);
      }
    }
    for (int r = 0; r < kCount; ++r) {
      _mm256_storeu_ps(scratch.scores + static_cast<ptrdiff_t>(r) * scratch.padded + j,
                       _mm256_mul_ps(sum[r], Set(op.scale)));
    }
  }
}

// scores = exp(scores - their maximum), 0 past the keys; returns their sum.
float Exponentials(float* scores, int keys, int padded) {
  float most = scores[0];
  for (int j = 1; j < keys; ++j) most = scores[j] > most ? scores[j] : most;
  __m256 sums = _mm256_setzero_ps();
  for (int j = 0; j < padded; j += kLanes) {
    _mm256_storeu_ps(scores + j, Exp(_mm256_sub_ps(_mm256_loadu_ps(scores + j), Set(most))));
    for (int i = keys > j ? keys : j; i < j + kLanes; ++i) scores[i] = 0;
    sums = _mm256_add_ps(sums, _mm256_loadu_ps(scores + j));
  }
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, sums);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

template <int kCount>
void Mix(const Attention<float>& op, const Scratch& scratch, const float* totals, float* out) {
  for (int d = 0; d < op.dim; d += kLanes) {
    __m256 sum[kCount];
    for (int r = 0; r < kCount; ++r) sum[r] = _mm256_setzero_ps();
    for (int j = 0; j < op.keys; ++j) {
      const __m256 value = _mm256_loadu_ps(op.v + j * op.v_stride + d);
      for (int r = 0; r < kCount; ++r) {
        sum[r] = _mm256_fmadd_ps(
            Set(scratch.scores[static_cast<ptrdiff_t>(r) * scratch.padded + j]), value, sum[r]);
      }
    }
    for (int r = 0; r < kCount; ++r) {
      _mm256_storeu_ps(out + r * op.out_stride + d, _mm256_div_ps(sum[r], Set(totals[r])));
    }
  }
}

template <int kCount>
void Rows(const Attention<float>& op, int row, const Scratch& scratch) {
  Scores<kCount>(op, op.q + row * op.q_stride, scratch);
  float totals[kCount];
  for (int r = 0; r < kCount; ++r) {
    totals[r] = Exponentials(scratch.scores + static_cast<ptrdiff_t>(r) * scratch.padded, op.keys,
                             scratch.padded);
  }
  Mix<kCount>(op, scratch, totals, op.out + row * op.out_stride);
}

}  // namespace

bool TakesAttentionAvx2(const Attention<float>& op) { return op.dim % kLanes == 0; }

void AttentionAvx2(const Attention<float>& op, float* scratch) {
  const Scratch parts = Transpose(op, scratch);
  int row = 0;
  for (; row + kQueries <= op.queries; row += kQueries) Rows<kQueries>(op, row, parts);
  for (; row < op.queries; ++row) Rows<1>(op, row, parts);
}

}  // namespace scanline
