// A model of real size, from a foreign file through the importer into the engine: weights by the
// generator of tests/data/reference/README.md, logits by the official code.
#include <gtest/gtest.h>

#include "model/backbone.h"
#include "model/bundle.h"
#include "model/checkpoint/import.h"
#include "model/patches.h"
#include "model/tensor_ops.h"
#include "tests/model/bundle_folder.h"
#include "tests/model/generator.h"
#include "tests/model/pooled.h"
#include "tests/model/reference.h"
#include "tests/support/pth_writer.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 5e-5;  // real_*: tests/data/reference/README.md

// The state dict of a vector's model under its official names.
std::vector<TensorToWrite> StateDict(const SafetensorsFile& vectors, uint64_t seed) {
  const auto number = [&](const char* key) { return std::stoi(vectors.metadata.at(key)); };
  ModelConfig model;
  model.backbone.embed_dim = number("embed_dim");
  model.backbone.dt_rank = (model.backbone.embed_dim + 15) / 16;
  model.backbone.depth = number("depth");
  model.backbone.frames = number("num_frames");
  model.backbone.size = number("img_size");
  if (vectors.metadata.count("bimamba_type") != 0) {
    model.backbone.mixer = *MixerPreset("videomambapro_" + vectors.metadata.at("bimamba_type"));
  }
  model.classify.labels.resize(number("num_classes"));
  std::vector<TensorToWrite> tensors;
  const Weights weights = GenerateWeights(model, seed);
  for (const auto& [name, tensor] : weights.tensors()) {
    tensors.push_back({name, tensor.shape, {tensor.data.get(), tensor.data.get() + tensor.size()}});
  }
  return tensors;
}

std::string FileOf(const std::vector<TensorToWrite>& tensors, const std::string& ending) {
  if (ending == "safetensors") return SafetensorsBytes(tensors);
  std::vector<FloatTensor> state;
  for (const TensorToWrite& tensor : tensors) {
    state.push_back({"module." + tensor.name, tensor.shape, tensor.values});
  }
  return PthBytes(state);
}

// A vector and a format.
class ImportedModel : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ImportedModel, GivesTheLogitsOfItsVectors) {
  const auto& [vector, ending] = GetParam();
  const SafetensorsFile vectors = ReadReference(vector);
  const uint64_t seed = std::stoull(vectors.metadata.at("gseed"), nullptr, 16);
  TempFolder folder;
  folder.Write("weights." + ending, FileOf(StateDict(vectors, seed), ending));
  ImportOptions options;
  options.file = folder.path() + "/weights." + ending;
  options.labels = "kinetics400";
  options.labels_folder = SCANLINE_SOURCE_DIR "/assets/labels";
  options.name = "tiny";
  options.output = folder.path();
  const auto report = ImportCheckpoint(options);
  ASSERT_TRUE(report.ok()) << report.status();

  const auto bundle = ModelBundle::Load(report->folder);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ((*bundle)->weights_sha256(), report->weights_sha256);
  const BackboneConfig& config = (*bundle)->config().backbone;
  const Weights& weights = (*bundle)->weights();
  const auto video = Generate("input", {1, 3, config.frames, config.size, config.size}, seed);
  Backbone backbone(config, weights, BestKernels());
  PatchesFromVideo(video.data(), config, backbone.patches());
  const auto pooled = RunPooled(backbone);
  std::vector<float> logits((*bundle)->config().classify.labels.size());
  RunGemm({.x = pooled.data(),
           .rows = 1,
           .inner = config.embed_dim,
           .x_stride = config.embed_dim,
           .weight = weights.Data("head.weight"),
           .columns = static_cast<int64_t>(logits.size()),
           .bias = weights.Data("head.bias"),
           .out = logits.data()});
  EXPECT_LE(RelMax(logits, Floats(vectors.at("logits"))), kTolerance);
  EXPECT_LE(RelMax(logits, vectors.at("logits_fp64").values<double>()), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Vectors, ImportedModel,
                         ::testing::Combine(::testing::ValuesIn(ReferenceNames({"real_"})),
                                            ::testing::Values("pth", "safetensors")),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace scanline::testing
