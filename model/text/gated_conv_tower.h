#pragma once

#include <memory>

#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/text/text_encoder.h"
#include "model/weights.h"

namespace scanline {

// The text tower of the default bundle (its model card): word and position embeddings; per layer
// h += out_proj(SiLU(conv(x)) SiLU(z)) with [x | z] = in_proj(RMSNorm(h)) and conv depthwise, zeros
// outside the text; the mean over the words; text_proj; unit length. Texts are run one by one.
std::unique_ptr<TextEncoder> MakeGatedConvTower(const ModelConfig& config, const Weights& weights,
                                                const Kernels& kernels);

}  // namespace scanline
