#pragma once

#include <vector>

#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/weights.h"

namespace scanline {

// What is made of the backbone's tokens. Each head keeps pointers into the weights and the memory
// that it needs, and may throw what tensor_ops.h throws; none is reentrant. `backbone` is that of
// the pass (Backbone::config()), kept by reference since its pictures may change their shape; a
// head reads its `normed` tokens (Backbone::Run): the cls row alone for pool kCls.

// Pooled tokens to class logits: `head.*`.
class ClassHead {
 public:
  ClassHead(const BackboneConfig& backbone, const ClassifyConfig& config, const Weights& weights);

  std::vector<float> Run(const float* normed);

 private:
  const BackboneConfig& backbone_;
  int classes_;
  const float* weight_;
  const float* bias_;
  AlignedFloats pooled_;
  AlignedFloats logits_;
};

// The vectors between pooling and the answer, for tests and comparisons; `steps` rows each, one
// without keep_temporal.
struct EmbedTrace {
  int steps = 0;
  std::vector<float> pooled;      // [steps][pooled_dim], after pool_norm where there is one
  std::vector<float> projected;   // [steps][dim]
  std::vector<float> normalised;  // [steps][dim]
};

struct VisionEmbedding {
  std::vector<float> scored;  // mean over the steps of the unit vectors, not normalised again
  std::vector<float> raw;     // mean over the steps before any normalisation
};

// Pooled tokens to the space shared with text: `pool_norm.*`, `vision_proj.*`. Official code:
// video_mm/models/umt_videomamba.py and the similarities of tasks/retrieval_utils.py, which take
// the mean over frames after normalisation.
class EmbedHead {
 public:
  EmbedHead(const BackboneConfig& backbone, const EmbedConfig& config, const Weights& weights,
            const Kernels& kernels);

  VisionEmbedding Run(const float* normed, EmbedTrace* trace = nullptr);

 private:
  const BackboneConfig& backbone_;
  EmbedConfig config_;
  const Kernels& kernels_;
  int steps_;
  const float* norm_weight_ = nullptr;  // none: no pool_norm
  const float* norm_bias_ = nullptr;
  const float* weight_;
  const float* bias_;
  AlignedFloats pooled_;     // [steps][pooled_dim]
  AlignedFloats projected_;  // [steps][dim]
};

}  // namespace scanline
