#include <immintrin.h>

#include "model/kernels/avx2.h"
#include "model/kernels/tile_kernels.h"

namespace scanline {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kFractions = 8;
  static constexpr int kMostStates = 8;  // with table, dt, dx, y and temporaries in 16 registers

  static Vector Set(float value) { return _mm256_set1_ps(value); }
  static Vector Broadcast(const float* value) { return _mm256_broadcast_ss(value); }
  static Vector Load(const float* from) { return _mm256_load_ps(from); }
  static void Store(float* to, Vector value) { _mm256_store_ps(to, value); }
  static Vector Fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector Div(Vector a, Vector b) { return _mm256_div_ps(a, b); }
  static Vector Max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  static Vector Min(Vector a, Vector b) { return _mm256_min_ps(a, b); }
  static Vector MinusMagnitude(Vector x) { return _mm256_or_ps(_mm256_set1_ps(-0.0f), x); }

  static Vector Table() {
    return _mm256_castsi256_ps(_mm256_setr_epi32(0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7,
                                                 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7));
  }
  static Vector ScaleByTable(Vector table, Vector t) {
    const __m256i bits = _mm256_castps_si256(t);
    const __m256i entry = _mm256_castps_si256(_mm256_permutevar8x32_ps(table, bits));
    return _mm256_castsi256_ps(_mm256_add_epi32(entry, _mm256_slli_epi32(bits, 20)));
  }
  static Vector ZeroWhereBelow(Vector x, Vector limit, Vector value) {
    return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), value);
  }
  static bool AnyBelow(Vector x, Vector limit) {
    return _mm256_movemask_ps(_mm256_cmp_ps(x, limit, _CMP_LT_OQ)) != 0;
  }
};

}  // namespace

void ConvTileAvx2(const ConvTile<float>& op) { RunConvTile<Avx2>(op); }
void ScanTileAvx2(const ScanTile<float>& op) { RunScanTile<Avx2>(op); }
void GateTileAvx2(const GateTile<float>& op) { RunGateTile<Avx2>(op); }

}  // namespace scanline
