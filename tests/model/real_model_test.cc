// Whole Tiny models, 24 layers at 224 pixels, with weights from the generator.
#include <gtest/gtest.h>

#include "model/backbone.h"
#include "model/patches.h"
#include "model/tensor_ops.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/pooled.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 5e-5;  // real_*: tests/data/reference/README.md
constexpr uint64_t kSeed = 0x5348415245440001;

TEST(Generator, GivesTheCheckValuesOfItsDescription) {
  EXPECT_EQ(NameHash("layers.0.mixer.in_proj.weight"), 0x3d90677b988d08efu);
  EXPECT_EQ(NameHash("input"), 0x1ebbae8f5810b65bu);
  EXPECT_EQ(Mixed(NameHash("cls_token") ^ kSeed, 0), 0xba717ebc257d440eu);
  EXPECT_EQ(Mixed(NameHash("input") ^ kSeed, 0), 0xb7dc4f95b8ce206fu);
  EXPECT_EQ(Uniform("layers.0.mixer.in_proj.weight", kSeed, 0), 0.4596928358078003);
  EXPECT_EQ(Uniform("layers.0.mixer.in_proj.weight", kSeed, 1), 0.4282452464103699);
  EXPECT_EQ(Uniform("layers.0.mixer.in_proj.weight", kSeed, 2), 0.30101466178894043);
  EXPECT_EQ(Uniform("cls_token", kSeed, 2), 0.9023187160491943);
}

ModelConfig ConfigOf(const SafetensorsFile& file) {
  const auto number = [&](const char* key) { return std::stoi(file.metadata.at(key)); };
  ModelConfig model;
  BackboneConfig& config = model.backbone;
  config.embed_dim = number("embed_dim");
  config.dt_rank = (config.embed_dim + 15) / 16;
  config.depth = number("depth");
  config.frames = number("num_frames");
  config.size = number("img_size");
  if (file.metadata.count("bimamba_type") != 0) {
    config.mixer = *MixerPreset("videomambapro_" + file.metadata.at("bimamba_type"));
  }
  model.classify.labels.resize(number("num_classes"));
  return model;
}

std::vector<float> PickRows(const std::vector<float>& all, const std::vector<int64_t>& rows,
                            int dim) {
  std::vector<float> picked;
  for (int64_t row : rows) {
    const auto part = Part(all, static_cast<size_t>(row) * dim, dim);
    picked.insert(picked.end(), part.begin(), part.end());
  }
  return picked;
}

// A file and a set of kernels.
class RealModel : public ::testing::TestWithParam<std::tuple<std::string, const Kernels*>> {};

TEST_P(RealModel, GivesTheSameTraceAndLogits) {
  const SafetensorsFile file = ReadReference(std::get<0>(GetParam()));
  const ModelConfig model = ConfigOf(file);
  const BackboneConfig& config = model.backbone;
  const uint64_t seed = std::stoull(file.metadata.at("gseed"), nullptr, 16);
  const Weights weights = GenerateWeights(model, seed);
  const auto video = Generate("input", {1, 3, config.frames, config.size, config.size}, seed);
  if (file.has("check.input_first8")) {
    EXPECT_EQ(Part(video, 0, 8), Floats(file.at("check.input_first8")));
    const float* in_proj = weights.Data("layers.0.mixer.in_proj.weight");
    EXPECT_EQ(std::vector<float>(in_proj, in_proj + 8), Floats(file.at("check.in_proj0_first8")));
    const float* norm = weights.Data("norm_f.weight");
    EXPECT_EQ(std::vector<float>(norm, norm + 8), Floats(file.at("check.norm_f_first8")));
  }

  const auto rows = file.at("rows").values<int64_t>();
  Team team(2);  // The scalar kernels take a while.
  Backbone backbone(config, weights, *std::get<1>(GetParam()), {.team = &team});
  PatchesFromVideo(video.data(), config, backbone.patches());
  BackboneTrace trace;
  const auto pooled = RunPooled(backbone, &trace);
  for (const auto& [name, tensor] : file.tensors) {
    for (const auto& [what, layers] :
         {std::pair("trace.hidden", &trace.hidden), std::pair("trace.residual", &trace.residual)}) {
      if (name.rfind(what, 0) != 0) continue;
      const size_t layer = std::stoul(name.substr(std::string(what).size()));
      EXPECT_LE(RelMax(PickRows(layers->at(layer), rows, config.embed_dim), Floats(tensor)),
                kTolerance)
          << name;
    }
  }
  EXPECT_LE(RelMax(pooled, Floats(file.at("pooled"))), kTolerance);
  EXPECT_LE(RelMax(pooled, file.at("pooled_fp64").values<double>()), kTolerance);
  std::vector<float> logits(model.classify.labels.size());
  RunGemm({.x = pooled.data(),
           .rows = 1,
           .inner = config.embed_dim,
           .x_stride = config.embed_dim,
           .weight = weights.Data("head.weight"),
           .columns = static_cast<int64_t>(logits.size()),
           .bias = weights.Data("head.bias"),
           .out = logits.data()});
  EXPECT_LE(RelMax(logits, Floats(file.at("logits"))), kTolerance);
  EXPECT_LE(RelMax(logits, file.at("logits_fp64").values<double>()), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Vectors, RealModel,
                         ::testing::Combine(::testing::ValuesIn(ReferenceNames({"real_"})),
                                            ::testing::ValuesIn(KernelsHere())),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param)->name;
                         });

}  // namespace
}  // namespace scanline::testing
