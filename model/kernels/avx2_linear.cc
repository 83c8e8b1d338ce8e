#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/linear_tiles.h"

namespace scanline {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;  // 12 sums, 2 weights and an input in 16 registers

  static Vector Zero() { return _mm256_setzero_ps(); }
  static Vector Load(const float* from) { return _mm256_loadu_ps(from); }
  static Vector LoadPart(const float* from, int lanes) {
    return _mm256_maskload_ps(from, First(lanes));
  }
  static void Store(Vector y, float* to) { _mm256_storeu_ps(to, y); }
  static void StorePart(Vector y, float* to, int lanes) {
    _mm256_maskstore_ps(to, First(lanes), y);
  }
  static Vector Broadcast(const float* from) { return _mm256_broadcast_ss(from); }
  static Vector Add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector MultiplyAdd(Vector x, Vector w, Vector sum) { return _mm256_fmadd_ps(x, w, sum); }

  static __m256i First(int lanes) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
};

}  // namespace

void PackedLinearAvx2(const PackedLinear& op) { RunPanels<Avx2>(op); }

}  // namespace scanline
