#pragma once

#include "model/kernels/ops.h"

// Kernels for x86 with AVX-512F beside AVX2 and FMA; otherwise as avx2.h.

namespace scanline {

void PackedLinearAvx512(const PackedLinear& op);  // Any shape.

}  // namespace scanline
