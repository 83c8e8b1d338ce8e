#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/text/text_encoder.h"
#include "model/weights.h"

namespace scanline {

// The text side of the official multimodal model: clean-up (where config says so), WordPiece, the
// first `depth` layers of BERT, text_proj of [CLS], unit length. Official code:
// models/umt.py, encode_text; tasks/retrieval_utils.py.
absl::StatusOr<std::unique_ptr<TextEncoder>> MakeBertTower(const ModelConfig& config,
                                                           const Weights& weights,
                                                           const Kernels& kernels);

// Its fusion layers, `fusion_depth` of them after the first `depth`, and itm_head.
std::unique_ptr<FusionScorer> MakeBertFusion(const ModelConfig& config, const Weights& weights,
                                             const Kernels& kernels);

}  // namespace scanline
