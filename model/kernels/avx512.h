#pragma once

#include "model/kernels/tiles.h"

// Kernels for x86 with AVX-512F beside AVX2 and FMA; otherwise as avx2.h.

namespace scanline {

void PackedLinearAvx512(const PackedLinear& op);  // Any shape.

// Any shape; with AVX-512BW, VL and BF16 too. Values below the normal floats count as zero.
void PackedLinearAvx512Bf16(const PackedLinearBf16& op);

}  // namespace scanline
