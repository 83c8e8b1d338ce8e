#pragma once

#include "model/kernels/tiles.h"

// Kernels for x86 with AVX-512F beside AVX2 and FMA; otherwise as avx2.h.

namespace scanline {

// Any shape.
void PackedLinearAvx512(const PackedLinear& op);

// Any width.
void AddNormAvx512(const AddNorm<float>& op);

// Any shape that tiles.h allows, a2 <= 0.
void ConvTileAvx512(const ConvTile<float>& op);
void ScanTileAvx512(const ScanTile<float>& op);
void GateTileAvx512(const GateTile<float>& op);

// Any shape; with AVX-512BW, VL and BF16 too. Values below the normal floats count as zero.
void PackedLinearAvx512Bf16(const PackedLinearBf16& op);

}  // namespace scanline
