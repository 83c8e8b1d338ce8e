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

void AddLayerNorm(const std::string& name, int64_t dim, Specs& specs) {
  specs.push_back({name + ".weight", {dim}});
  specs.push_back({name + ".bias", {dim}});
}

void AddGatedConv(const TextTowerConfig& tower, Specs& specs) {
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
}

// `source`: width of what keys and values are made of.
void AddAttention(const std::string& name, int64_t dim, int64_t source, Specs& specs) {
  AddLinear(name + ".self.query", dim, dim, specs);
  AddLinear(name + ".self.key", dim, source, specs);
  AddLinear(name + ".self.value", dim, source, specs);
  AddLinear(name + ".output.dense", dim, dim, specs);
  AddLayerNorm(name + ".output.LayerNorm", dim, specs);
}

// Layers from `depth` on read the video too. Official code: video_mm/models/backbones/bert/xbert.py
// (Hugging Face's names; those of the evaluation, without `bert.`).
void AddBert(const TextTowerConfig& tower, int64_t vision_dim, Specs& specs) {
  const int64_t dim = tower.dim;
  const std::string embeddings = "text_encoder.embeddings.";
  specs.push_back(
      {embeddings + "word_embeddings.weight", {static_cast<int64_t>(tower.vocab.size()), dim}});
  specs.push_back({embeddings + "position_embeddings.weight", {tower.max_positions, dim}});
  specs.push_back({embeddings + "token_type_embeddings.weight", {2, dim}});
  AddLayerNorm(embeddings + "LayerNorm", dim, specs);
  for (int i = 0; i < tower.depth + tower.fusion_depth; ++i) {
    const std::string layer = absl::StrCat("text_encoder.encoder.layer.", i, ".");
    AddAttention(layer + "attention", dim, dim, specs);
    if (i >= tower.depth) AddAttention(layer + "crossattention", dim, vision_dim, specs);
    AddLinear(layer + "intermediate.dense", tower.intermediate, dim, specs);
    AddLinear(layer + "output.dense", dim, tower.intermediate, specs);
    AddLayerNorm(layer + "output.LayerNorm", dim, specs);
  }
  if (tower.fusion_depth > 0) AddLinear("itm_head", 2, dim, specs);
}

void AddTextTower(const TextTowerConfig& tower, int64_t joint_dim, int64_t vision_dim,
                  Specs& specs) {
  if (tower.type == TextTowerType::kBert) {
    AddBert(tower, vision_dim, specs);
  } else {
    AddGatedConv(tower, specs);
  }
  AddLinear("text_proj", joint_dim, tower.dim, specs);
  specs.push_back({"temp", {}});
}

}  // namespace

std::vector<TensorSpec> ExpectedTensors(const ModelConfig& config) {
  const BackboneConfig& backbone = config.backbone;
  Specs specs;
  AddBackbone(backbone, specs);
  const int64_t pooled = backbone.pooled_dim();
  if (!config.classify.labels.empty()) {
    AddLinear("head", static_cast<int64_t>(config.classify.labels.size()), pooled, specs);
  }
  if (config.embed) {
    if (config.embed->pool_norm) AddLayerNorm("pool_norm", pooled, specs);
    AddLinear("vision_proj", config.embed->dim, pooled, specs);
  }
  if (config.text_tower) {
    AddTextTower(*config.text_tower, config.embed->dim, backbone.embed_dim, specs);
  }
  if (config.detect) {
    const int parts = config.detect->feature == DetectConfig::Feature::kAvgDelta ? 2 : 1;
    AddLinear("box_head", static_cast<int64_t>(config.detect->labels.size()),
              int64_t{parts} * backbone.embed_dim, specs);
  }
  return specs;
}

}  // namespace scanline
