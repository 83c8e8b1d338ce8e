#pragma once

#include "model/tensor_spec.h"
#include "model/weights.h"
#include "tests/support/generator.h"

namespace scanline::testing {

// All tensors of a model, position embeddings at the model's own size.
inline Weights GenerateWeights(const ModelConfig& config, uint64_t seed) {
  Weights weights;
  for (TensorSpec spec : ExpectedTensors(config)) {
    const BackboneConfig& backbone = config.backbone;
    if (spec.name == "pos_embed") spec.shape[1] = 1 + backbone.grid() * backbone.grid();
    if (spec.name == "temporal_pos_embedding") spec.shape[1] = backbone.steps();
    weights.Add(spec.name, spec.shape, Generate(spec.name, spec.shape, seed));
  }
  return weights;
}

}  // namespace scanline::testing
