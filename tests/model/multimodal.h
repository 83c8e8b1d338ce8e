#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/clip.h"
#include "model/config.h"
#include "model/weights.h"
#include "tests/model/bundle_folder.h"
#include "tests/model/reference.h"

// The mm_* vectors (tests/data/reference/README.md) as bundles see them.

namespace scanline::testing {

inline bool TakePrefix(const std::string& prefix, std::string* name) {
  if (name->rfind(prefix, 0) != 0) return false;
  name->erase(0, prefix.size());
  return true;
}

// The model of a vector file under the names of a bundle; without its heads of pre-training.
inline Weights MultimodalWeights(const SafetensorsFile& file) {
  Weights weights;
  for (const auto& [key, tensor] : file.tensors) {
    std::string name = key;
    if (!TakePrefix("model.", &name)) continue;
    const bool vision = TakePrefix("vision_encoder.", &name);
    if (name.rfind("clip_decoder.", 0) == 0) continue;
    if (name.rfind("text_encoder.cls.", 0) == 0) continue;
    if (vision && name == "norm.weight") name = "norm_f.weight";
    if (TakePrefix("text_encoder.bert.", &name)) name = "text_encoder." + name;
    weights.Add(name, tensor.shape, Floats(tensor));
  }
  return weights;
}

inline ModelConfig MultimodalConfig(const SafetensorsFile& file, const Weights& weights) {
  ModelConfig config;
  config.name = "mm";
  config.tasks = {"embed", "match"};
  BackboneConfig& backbone = config.backbone;
  backbone.depth = 0;
  const auto& patch = weights.Get("patch_embed.proj.weight").shape;
  backbone.embed_dim = static_cast<int>(patch[0]);
  while (weights.Has("layers." + std::to_string(backbone.depth) + ".norm.weight")) ++backbone.depth;
  backbone.dt_rank = (backbone.embed_dim + 15) / 16;
  backbone.patch = static_cast<int>(patch[3]);
  backbone.frames = std::stoi(file.metadata.at("num_frames"));
  backbone.size = std::stoi(file.metadata.at("img_size"));
  backbone.pool = file.metadata.at("pool_type") == "cls" ? PoolKind::kCls : PoolKind::kClsPlusAvg;
  backbone.still_as_image = true;
  config.embed.emplace();
  config.embed->dim = static_cast<int>(weights.Get("vision_proj.weight").shape[0]);
  config.embed->keep_temporal = file.metadata.at("keep_temporal") == "True";
  config.embed->pool_norm = true;
  TextTowerConfig& tower = config.text_tower.emplace();
  const std::string embeddings = "text_encoder.embeddings.";
  const auto& words = weights.Get(embeddings + "word_embeddings.weight").shape;
  tower.type = TextTowerType::kBert;
  tower.dim = static_cast<int>(words[1]);
  const auto has_layer = [&](int layer, const char* part) {
    return weights.Has("text_encoder.encoder.layer." + std::to_string(layer) + part);
  };
  while (!has_layer(tower.depth, ".crossattention.self.query.weight")) ++tower.depth;
  while (has_layer(tower.depth + tower.fusion_depth, ".output.dense.weight")) ++tower.fusion_depth;
  tower.heads = 4;  // Which no shape says.
  tower.intermediate = static_cast<int>(
      weights.Get("text_encoder.encoder.layer.0.intermediate.dense.weight").shape[0]);
  tower.max_positions =
      static_cast<int>(weights.Get(embeddings + "position_embeddings.weight").shape[0]);
  tower.max_length = static_cast<int>(file.at("input_ids").shape[1]);
  // The vectors have ids, so words are made for them: two that no text has are special tokens.
  tower.vocab = {"[PAD]", "[CLS]", "[SEP]"};
  const auto ids = file.at("input_ids").values<int64_t>();
  std::vector<std::string> special = {"[UNK]", "[MASK]"};
  for (int64_t id = 3; id < words[0]; ++id) {
    const bool free = std::count(ids.begin(), ids.end(), id) == 0;
    tower.vocab.push_back("w" + std::to_string(id));
    if (!free || special.empty()) continue;
    tower.vocab.back() = special.back();
    special.pop_back();
  }
  return config;
}

// Texts whose word pieces are the ids of text `row`.
inline std::string TextOf(const SafetensorsFile& file, size_t row) {
  const auto length = static_cast<size_t>(file.at("input_ids").shape[1]);
  std::string text;
  for (int64_t id : Part(file.at("input_ids").values<int64_t>(), row * length, length)) {
    if (id > 2) text += (text.empty() ? "w" : " w") + std::to_string(id);
  }
  return text;
}

inline int TokensOf(const SafetensorsFile& file, size_t row) {
  const auto length = static_cast<size_t>(file.at("input_ids").shape[1]);
  int count = 0;
  for (int64_t on : Part(file.at("attention_mask").values<int64_t>(), row * length, length)) {
    count += static_cast<int>(on);
  }
  return count;
}

// Video `index` of video_btchw as [3][frames][size][size]; its first `frames` frames.
inline std::vector<float> VideoOf(const SafetensorsFile& file, size_t index, int frames) {
  const StoredTensor& stored = file.at("video_btchw");
  const auto all = Floats(stored);
  const auto plane = static_cast<size_t>(stored.shape[3] * stored.shape[4]);
  const size_t first = index * static_cast<size_t>(stored.shape[1]) * 3;
  std::vector<float> video;
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t frame = 0; frame < static_cast<size_t>(frames); ++frame) {
      const auto part = Part(all, (first + frame * 3 + channel) * plane, plane);
      video.insert(video.end(), part.begin(), part.end());
    }
  }
  return video;
}

// [video][text]: the second of each pair, the logit of a match.
inline std::vector<float> MatchLogits(const SafetensorsFile& file) {
  const std::vector<float> pairs = Floats(file.at("itm_logits_video_by_text"));
  std::vector<float> logits;
  for (size_t i = 1; i < pairs.size(); i += 2) logits.push_back(pairs[i]);
  return logits;
}

// Video `index` as a clip, normalised already; its first `frames` frames.
inline Clip ClipOf(const SafetensorsFile& file, size_t index, int frames) {
  Clip clip;
  clip.width = clip.height = static_cast<int>(file.at("video_btchw").shape[4]);
  clip.tensor = VideoOf(file, index, frames);
  clip.views.resize(1);
  clip.windows.resize(1);
  return clip;
}

// The model of a vector file as a bundle; returns its folder.
inline std::string WriteMultimodalBundle(const SafetensorsFile& file, const TempFolder& folder) {
  const Weights weights = MultimodalWeights(file);
  const ModelConfig config = MultimodalConfig(file, weights);
  const BackboneConfig& backbone = config.backbone;
  const TextTowerConfig& text = *config.text_tower;
  const nlohmann::json json = {{"format", 1},
                               {"name", config.name},
                               {"version", "1"},
                               {"license", "none"},
                               {"tasks", config.tasks},
                               {"backbone",
                                {{"arch", "videomamba"},
                                 {"embed_dim", backbone.embed_dim},
                                 {"depth", backbone.depth},
                                 {"patch", backbone.patch},
                                 {"tubelet", backbone.tubelet},
                                 {"frames", backbone.frames},
                                 {"size", backbone.size},
                                 {"mixer", "videomamba"},
                                 {"pool", backbone.pool == PoolKind::kCls ? "cls" : "cls+avg"},
                                 {"still_as_image", true}}},
                               {"preprocess",
                                {{"resize", "square_bicubic"},
                                 {"size", backbone.size},
                                 {"mean", {0.485, 0.456, 0.406}},
                                 {"std", {0.229, 0.224, 0.225}}}},
                               {"sampling", {{"rule", "middle"}}},
                               {"embed",
                                {{"dim", config.embed->dim},
                                 {"keep_temporal", config.embed->keep_temporal},
                                 {"pool_norm", true}}},
                               {"text_tower",
                                {{"type", "bert"},
                                 {"vocab", "vocab.txt"},
                                 {"dim", text.dim},
                                 {"depth", text.depth},
                                 {"fusion_depth", text.fusion_depth},
                                 {"heads", text.heads},
                                 {"intermediate", text.intermediate},
                                 {"max_positions", text.max_positions},
                                 {"max_length", text.max_length}}},
                               {"weights", {{"file", "model.safetensors"}}}};
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, tensor] : weights.tensors()) {
    tensors.push_back({name, tensor.shape, {tensor.data.get(), tensor.data.get() + tensor.size()}});
  }
  folder.Write("config.json", json.dump());
  folder.Write("vocab.txt", absl::StrJoin(text.vocab, "\n") + "\n");
  folder.Write("model.safetensors", SafetensorsBytes(tensors));
  return folder.path();
}

}  // namespace scanline::testing
