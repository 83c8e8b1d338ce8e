#pragma once

#include <string>

#include "model/config.h"
#include "tests/model/reference.h"

// The models of tests/data/reference: model_* hold their weights, real_* name the seed of theirs.

namespace scanline::testing {

inline void SetMixer(const SafetensorsFile& file, BackboneConfig* config) {
  if (file.metadata.count("bimamba_type") == 0) return;
  config->mixer = *MixerPreset("videomambapro_" + file.metadata.at("bimamba_type"));
}

// The sizes of a model_* file; frames and side come from its input [batch, 3, frames, size, size].
inline BackboneConfig StoredConfig(const SafetensorsFile& file, const Weights& weights) {
  const auto& patch = weights.Get("patch_embed.proj.weight").shape;
  const auto& input = file.at("input").shape;
  BackboneConfig config;
  config.embed_dim = static_cast<int>(patch[0]);
  config.tubelet = static_cast<int>(patch[2]);
  config.patch = static_cast<int>(patch[3]);
  config.frames = static_cast<int>(input[2]);
  config.size = static_cast<int>(input[3]);
  config.depth = 0;
  while (weights.Has("layers." + std::to_string(config.depth) + ".norm.weight")) ++config.depth;
  config.dt_rank = (config.embed_dim + 15) / 16;
  config.norm = weights.Has("norm_f.bias") ? NormKind::kLayer : NormKind::kRms;
  SetMixer(file, &config);
  return config;
}

// The model of a real_* file.
inline ModelConfig RealConfig(const SafetensorsFile& file) {
  const auto number = [&](const char* key) { return std::stoi(file.metadata.at(key)); };
  ModelConfig model;
  BackboneConfig& config = model.backbone;
  config.embed_dim = number("embed_dim");
  config.dt_rank = (config.embed_dim + 15) / 16;
  config.depth = number("depth");
  config.frames = number("num_frames");
  config.size = number("img_size");
  SetMixer(file, &config);
  model.classify.labels.resize(number("num_classes"));
  return model;
}

inline uint64_t RealSeed(const SafetensorsFile& file) {
  return std::stoull(file.metadata.at("gseed"), nullptr, 16);
}

// model_vm_d32_f4 and its like, named after their width, and the Pro models; the other model_vm_*
// files (students, interpolation) are of another form.
inline std::vector<std::string> StoredModels() {
  std::vector<std::string> models;
  for (const std::string& name : ReferenceNames({"model_vm_d", "model_pro_"})) {
    const std::string sized = "model_vm_d";
    const bool pro = name.rfind("model_pro_", 0) == 0;
    if (pro || (name[sized.size()] >= '0' && name[sized.size()] <= '9')) models.push_back(name);
  }
  return models;
}

}  // namespace scanline::testing
