#include "model/tensor_spec.h"

#include "absl/strings/str_cat.h"

namespace scanline {
namespace {

using Specs = std::vector<TensorSpec>;

void AddLinear(const std::string& name, int64_t rows, int64_t columns, Specs& specs) {
  specs.push_back({name + ".weight", {rows, columns}});
  specs.push_back({name + ".bias", {rows}});
}

void AddNorm(const std::string& name, const BackboneConfig& config, Specs& specs) {
  specs.push_back({name + ".weight", {config.embed_dim}});
  if (config.norm == NormKind::kLayer) specs.push_back({name + ".bias", {config.embed_dim}});
}

// `suffix`: "" for the forward direction, "_b" for the backward one.
void AddDirection(const std::string& mixer, const std::string& suffix, const BackboneConfig& config,
                  Specs& specs) {
  const int64_t inner = config.d_inner();
  specs.push_back({mixer + "conv1d" + suffix + ".weight", {inner, 1, config.d_conv}});
  specs.push_back({mixer + "conv1d" + suffix + ".bias", {inner}});
  specs.push_back(
      {mixer + "x_proj" + suffix + ".weight", {config.dt_rank + 2 * config.d_state, inner}});
  AddLinear(mixer + "dt_proj" + suffix, inner, config.dt_rank, specs);
  specs.push_back({mixer + "D" + suffix, {inner}});
}

void AddBackbone(const BackboneConfig& config, Specs& specs) {
  const int64_t dim = config.embed_dim;
  const int64_t inner = config.d_inner();
  specs.push_back({"cls_token", {1, 1, dim}});
  specs.push_back({"pos_embed", {1, -1, dim}});
  specs.push_back({"temporal_pos_embedding", {1, -1, dim}});
  specs.push_back(
      {"patch_embed.proj.weight", {dim, 3, config.tubelet, config.patch, config.patch}});
  specs.push_back({"patch_embed.proj.bias", {dim}});
  for (int i = 0; i < config.depth; ++i) {
    const std::string layer = absl::StrCat("layers.", i, ".");
    const std::string mixer = layer + "mixer.";
    AddNorm(layer + "norm", config, specs);
    specs.push_back({mixer + "in_proj.weight", {2 * inner, dim}});
    specs.push_back({mixer + "out_proj.weight", {dim, inner}});
    specs.push_back({mixer + "A_log", {inner, config.d_state}});
    specs.push_back({mixer + "A_b_log", {inner, config.d_state}});
    AddDirection(mixer, "", config, specs);
    if (!config.mixer.shared) AddDirection(mixer, "_b", config, specs);
  }
  AddNorm("norm_f", config, specs);
}

void AddTextTower(const TextTowerConfig& tower, int64_t joint_dim, Specs& specs) {
  const int64_t dim = tower.dim;
  specs.push_back(
      {"text_encoder.word_embeddings.weight", {static_cast<int64_t>(tower.vocab.size()), dim}});
  specs.push_back({"text_encoder.position_embeddings", {tower.max_words, dim}});
  for (int i = 0; i < tower.depth; ++i) {
    const std::string layer = absl::StrCat("text_encoder.layers.", i, ".");
    specs.push_back({layer + "norm.weight", {dim}});
    AddLinear(layer + "in_proj", 4 * dim, dim, specs);
    specs.push_back({layer + "conv1d.weight", {2 * dim, 1, tower.kernel}});
    specs.push_back({layer + "conv1d.bias", {2 * dim}});
    AddLinear(layer + "out_proj", dim, 2 * dim, specs);
  }
  AddLinear("text_proj", joint_dim, dim, specs);
  specs.push_back({"temp", {}});
}

}  // namespace

std::vector<TensorSpec> ExpectedTensors(const ModelConfig& config) {
  const BackboneConfig& backbone = config.backbone;
  Specs specs;
  AddBackbone(backbone, specs);
  AddLinear("head", static_cast<int64_t>(config.classify.labels.size()), backbone.pooled_dim(),
            specs);
  if (config.embed) AddLinear("vision_proj", config.embed->dim, backbone.pooled_dim(), specs);
  if (config.text_tower) AddTextTower(*config.text_tower, config.embed->dim, specs);
  if (config.detect) {
    const int parts = config.detect->feature == DetectConfig::Feature::kAvgDelta ? 2 : 1;
    AddLinear("box_head", static_cast<int64_t>(config.detect->labels.size()),
              int64_t{parts} * backbone.embed_dim, specs);
  }
  return specs;
}

}  // namespace scanline
