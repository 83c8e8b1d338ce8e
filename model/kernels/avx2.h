#pragma once

#include "model/kernels/ops.h"
#include "model/kernels/tiles.h"

// Kernels for x86 with AVX2 and FMA, vectorised over channels. Only code that has asked the CPU may
// call them. Their files alone are compiled for those instructions, so they include nothing whose
// inline functions another file could end up using.

namespace scanline {

// Any shape that tiles.h allows, a2 <= 0.
void ConvTileAvx2(const ConvTile<float>& op);
void ScanTileAvx2(const ScanTile<float>& op);
void GateTileAvx2(const GateTile<float>& op);

// Any width.
void AddNormAvx2(const AddNorm<float>& op);

// Any shape.
void PackedLinearAvx2(const PackedLinear& op);

// dim a multiple of 8.
bool TakesAttentionAvx2(const Attention<float>& op);
// `scratch`: AttentionScratchFloats(keys, dim).
void AttentionAvx2(const Attention<float>& op, float* scratch);

}  // namespace scanline
