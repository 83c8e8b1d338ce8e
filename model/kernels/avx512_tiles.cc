#include <immintrin.h>

#include "model/kernels/avx512.h"
#include "model/kernels/tile_kernels.h"

namespace scanline {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kFractions = 16;
  static constexpr int kMostStates = 16;  // with table, dt, dx, y and temporaries in 32 registers

  static Vector Set(float value) { return _mm512_set1_ps(value); }
  static Vector Broadcast(const float* value) { return _mm512_set1_ps(*value); }
  static Vector Load(const float* from) { return _mm512_load_ps(from); }
  static void Store(float* to, Vector value) { _mm512_store_ps(to, value); }
  static Vector Fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector Div(Vector a, Vector b) { return _mm512_div_ps(a, b); }
  static Vector Max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  static Vector Min(Vector a, Vector b) { return _mm512_min_ps(a, b); }
  static Vector MinusMagnitude(Vector x) {
    const __m512i sign = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(x), sign));
  }

  static Vector Table() {
    return _mm512_castsi512_ps(_mm512_setr_epi32(0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3,
                                                 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
                                                 0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c,
                                                 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d));
  }
  static Vector ScaleByTable(Vector table, Vector t) {
    const __m512i bits = _mm512_castps_si512(t);
    const __m512i entry = _mm512_castps_si512(_mm512_permutexvar_ps(bits, table));
    return _mm512_castsi512_ps(_mm512_add_epi32(entry, _mm512_slli_epi32(bits, 19)));
  }
  static Vector ZeroWhereBelow(Vector x, Vector limit, Vector value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), value);
  }
  static bool AnyBelow(Vector x, Vector limit) {
    return _mm512_cmp_ps_mask(x, limit, _CMP_LT_OQ) != 0;
  }
};

}  // namespace

void ConvTileAvx512(const ConvTile<float>& op) { RunConvTile<Avx512>(op); }
void ScanTileAvx512(const ScanTile<float>& op) { RunScanTile<Avx512>(op); }
void GateTileAvx512(const GateTile<float>& op) { RunGateTile<Avx512>(op); }

}  // namespace scanline
