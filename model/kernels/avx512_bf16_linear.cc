#include <cstring>

#include "model/kernels/avx512.h"
#include "model/kernels/avx512_vector.h"
#include "model/kernels/linear_tiles.h"

namespace scanline {
namespace {

constexpr int kScratchBlock = 32;  // of `inner`

// A float's place holds two bfloat16: neighbours in `inner`, added to the same sum.
struct Avx512Bf16 : Avx512 {
  static Vector Broadcast(const float* from) {
    int pair = 0;
    std::memcpy(&pair, from, sizeof(pair));
    return _mm512_castsi512_ps(_mm512_set1_epi32(pair));
  }
  static Vector MultiplyAdd(Vector x, Vector w, Vector sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(w));
  }
};

// `lanes` of x, as far as they exist, and zeros.
__m512 LoadUpTo(const float* x, int lanes) {
  if (lanes >= Avx512::kLanes) return Avx512::Load(x);
  return lanes > 0 ? Avx512::LoadPart(x, lanes) : Avx512::Zero();
}

// [inner / kScratchBlock][rows][kScratchBlock], filled up with zeros.
void RoundRows(const PackedLinear& op, uint16_t* scratch) {
  for (int k = 0; k < op.inner; k += kScratchBlock) {
    const float* x = op.x + op.XAt(0, k);
    for (int row = 0; row < op.rows; ++row, x += op.x_stride, scratch += kScratchBlock) {
      const __m512 low = LoadUpTo(x, op.inner - k);
      const __m512 high = LoadUpTo(x + op.x_block, op.inner - k - Avx512::kLanes);
      const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
      _mm512_store_si512(scratch, reinterpret_cast<__m512i>(both));
    }
  }
}

}  // namespace

void PackedLinearAvx512Bf16(const PackedLinearBf16& op) {
  RoundRows(op.shape, op.scratch);
  PackedLinear pairs = op.shape;
  pairs.inner = (op.shape.inner + 1) / 2;
  pairs.x = reinterpret_cast<const float*>(op.scratch);
  pairs.x_stride = kScratchBlock / 2;
  pairs.x_block = ptrdiff_t{kScratchBlock / 2} * op.shape.rows;
  pairs.weight = reinterpret_cast<const float*>(op.weight);
  RunPanels<Avx512Bf16>(pairs);
}

}  // namespace scanline
