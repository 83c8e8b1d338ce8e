#include "model/kernels/avx512.h"
#include "model/kernels/avx512_vector.h"
#include "model/kernels/linear_tiles.h"

namespace scanline {

void PackedLinearAvx512(const PackedLinear& op) { RunPanels<Avx512>(op); }

}  // namespace scanline
