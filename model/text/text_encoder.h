#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cancel.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/predictor.h"
#include "model/weights.h"

namespace scanline {

struct EncodedText {
  TextEmbedding embedding;  // .values: of unit length
  std::vector<float>
      hidden;  // [embedding.tokens][text_tower.dim]: for FusionScorer, where asked for
};

// Texts to vectors of the space that they share with video, by the tower that config.text_tower
// describes. Not reentrant: one a worker thread. Everything may throw what tensor_ops.h throws.
class TextEncoder {
 public:
  // BUNDLE_INVALID for a vocabulary that lacks what the tower needs. Keeps pointers into `config`
  // and `weights`, which the loader has checked.
  static absl::StatusOr<std::unique_ptr<TextEncoder>> Create(
      const ModelConfig& config, const Weights& weights, const Kernels& kernels = BestKernels());
  virtual ~TextEncoder() = default;

  // One result a text, in order; a text's has the same bits whatever stands beside it.
  // `keep_hidden`: kBert only. FIELD_INVALID, naming texts[i], for a text that is not UTF-8 or in
  // which the tower finds nothing to read; CANCELLED or EXPIRED_IN_INFERENCE.
  virtual absl::StatusOr<std::vector<EncodedText>> Encode(absl::Span<const std::string> texts,
                                                          bool keep_hidden,
                                                          const Cancel& cancel) = 0;

 protected:
  // To unit length. NON_FINITE_OUTPUT for texts[index] where that cannot be.
  static absl::Status Normalize(size_t index, absl::Span<float> values);
};

// A text for the fusion layers, borrowed: EncodedText's hidden, [tokens][text_tower.dim].
struct FusionText {
  const float* hidden;
  int tokens;
};

// The fusion layers (text_tower.fusion_depth > 0): how well a text and a clip go together, read by
// one transformer from both. Not reentrant; may throw what tensor_ops.h throws.
class FusionScorer {
 public:
  static std::unique_ptr<FusionScorer> Create(const ModelConfig& config, const Weights& weights,
                                              const Kernels& kernels = BestKernels());
  virtual ~FusionScorer() = default;

  // itm_head(token 0)[1] of each text with one clip, the logit of a match; the same bits whatever
  // stands beside it. `vision`: the patch tokens after the final norm, cls removed,
  // [count][backbone.embed_dim]. Many texts at once cost less than one by one. Official code:
  // tasks/retrieval_utils.py, evaluation of the k_test best.
  virtual std::vector<float> Score(absl::Span<const FusionText> texts, const float* vision,
                                   int count) = 0;
  float Score(const float* hidden, int tokens, const float* vision, int count);
};

}  // namespace scanline
