#include "model/text/text_encoder.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "model/text/bert.h"
#include "model/text/gated_conv_tower.h"

namespace scanline {

absl::Status TextEncoder::Normalize(size_t index, absl::Span<float> values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  const double length = std::sqrt(squares);
  if (!std::isfinite(length) || length == 0) {
    return MakeError(Reason::kNonFiniteOutput,
                     absl::StrCat("texts[", index, "]: the model gave a vector of length ", length,
                                  "; expected one that can be scaled to 1"));
  }
  for (float& value : values) value = static_cast<float>(value / length);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TextEncoder>> TextEncoder::Create(const ModelConfig& config,
                                                                 const Weights& weights,
                                                                 const Kernels& kernels) {
  switch (config.text_tower->type) {
    case TextTowerType::kGatedConv:
      return MakeGatedConvTower(config, weights, kernels);
    case TextTowerType::kBert:
      return MakeBertTower(config, weights, kernels);
  }
  return MakeError(Reason::kInternal, "a text tower of a kind that has no code");
}

std::unique_ptr<FusionScorer> FusionScorer::Create(const ModelConfig& config,
                                                   const Weights& weights, const Kernels& kernels) {
  return MakeBertFusion(config, weights, kernels);
}

float FusionScorer::Score(const float* hidden, int tokens, const float* vision, int count) {
  const FusionText text{hidden, tokens};
  return Score({&text, 1}, vision, count)[0];
}

}  // namespace scanline
