#include "server/cost.h"

#include <algorithm>
#include <cmath>

#include "model/predictor.h"

namespace scanline {
namespace {

constexpr int64_t kBytesAWord = 6;
constexpr int64_t kBytesAPiece = 4;

double Square(double x) { return x * x; }

// Projections, and in both directions the convolution, x_proj, dt_proj and the scan's three
// products a state.
double BackboneMacsAToken(const BackboneConfig& b) {
  const double inner = b.d_inner();
  const double direction =
      inner * (b.d_conv + (b.dt_rank + 2 * b.d_state) + b.dt_rank + 3 * b.d_state);
  return b.depth * (3 * inner * b.embed_dim + 2 * direction);
}

double TextTokens(const TextTowerConfig& tower, const std::string& text) {
  const auto bytes = static_cast<int64_t>(text.size());
  if (tower.type == TextTowerType::kGatedConv) {
    return static_cast<double>(std::min<int64_t>(tower.max_words, 1 + bytes / kBytesAWord));
  }
  return static_cast<double>(std::min<int64_t>(tower.max_length, 3 + bytes / kBytesAPiece));
}

// Self-attention (four projections, scores and their sums) and the two linears behind it.
double BertLayerMacs(const TextTowerConfig& tower, double tokens) {
  const double h = tower.dim;
  return tokens * (4 * Square(h) + 2 * h * tower.intermediate + 2 * tokens * h);
}

double TextMacs(const ModelConfig& config, const std::string& text) {
  const TextTowerConfig& tower = *config.text_tower;
  const double tokens = TextTokens(tower, text);
  const double h = tower.dim;
  const double projection = h * (config.embed ? config.embed->dim : 0);
  if (tower.type == TextTowerType::kGatedConv) {
    return tower.depth * tokens * (3 * Square(h) + tower.kernel * h) + projection;
  }
  return tower.depth * BertLayerMacs(tower, tokens) + projection;
}

// One fusion layer of one text and view, the keys and values of the vision tokens left out.
double FusionLayerMacs(const TextTowerConfig& tower, double tokens, double vision_tokens) {
  const double h = tower.dim;
  return BertLayerMacs(tower, tokens) + tokens * (2 * Square(h) + 2 * vision_tokens * h);
}

int64_t TokenEquivalents(const ModelConfig& config, double macs) {
  return static_cast<int64_t>(std::ceil(macs / BackboneMacsAToken(config.backbone)));
}

}  // namespace

int64_t TextCost(const ModelConfig& config, const std::vector<std::string>& texts) {
  if (texts.empty() || !config.text_tower.has_value()) return 0;
  double macs = 0;
  for (const std::string& text : texts) macs += TextMacs(config, text);
  return std::max<int64_t>(1, TokenEquivalents(config, macs));
}

int64_t RerankCost(const ModelConfig& config, const std::vector<std::string>& texts,
                   int64_t views) {
  if (texts.empty() || !config.text_tower.has_value()) return 0;
  const TextTowerConfig& tower = *config.text_tower;
  const double vision_tokens = config.backbone.tokens();
  const double keys_and_values = 2.0 * vision_tokens * config.backbone.embed_dim * tower.dim;
  std::vector<double> macs;
  for (const std::string& text : texts) {
    macs.push_back(FusionLayerMacs(tower, TextTokens(tower, text), vision_tokens));
  }
  // Which texts are the best is not known yet: the dearest ones.
  std::sort(macs.rbegin(), macs.rend());
  macs.resize(std::min(macs.size(), kRerankTexts));
  double layer = keys_and_values;
  for (const double text : macs) layer += text;
  return TokenEquivalents(config, static_cast<double>(views * tower.fusion_depth) * layer);
}

}  // namespace scanline
