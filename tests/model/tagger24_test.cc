// The default model against the values that came with it: same pixels in, same numbers at every
// stage out.
#include <gtest/gtest.h>

#include <fstream>

#include "model/backbone.h"
#include "model/bundle.h"
#include "model/match.h"
#include "model/patches.h"
#include "model/predictor.h"
#include "nlohmann/json.hpp"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/pooled.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 1e-4;  // Absolute; fp32 noise of the card's own values is 8e-6.
constexpr double kEmbeddingTolerance = 1e-5;
const char kExpected[] = SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected";

std::shared_ptr<const ModelBundle> Load() {
  auto bundle = ModelBundle::Load(SCANLINE_SOURCE_DIR "/assets/models/tagger24");
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  return *bundle;
}

std::vector<std::string> StoredClips() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kExpected)) {
    names.push_back(entry.path().stem().string());
  }
  if (names.empty()) throw std::runtime_error(std::string("no files in ") + kExpected);
  return names;
}

class StoredClip : public ::testing::TestWithParam<std::string> {
 protected:
  SafetensorsFile file_ =
      ReadSafetensors(std::string(kExpected) + "/" + GetParam() + ".safetensors");
};

TEST_P(StoredClip, EveryStageMatches) {
  const auto bundle = Load();
  const BackboneConfig& config = bundle->config().backbone;
  const auto want = [&](const std::string& name) { return Floats(file_.at(name)); };
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    Backbone backbone(config, bundle->weights(), *kernels);
    PatchesFromVideo(want("input").data(), config, backbone.patches());
    BackboneTrace trace;
    const auto pooled = RunPooled(backbone, &trace);
    EXPECT_LE(MaxDifference(trace.tokens, want("tokens")), kTolerance);
    for (int i = 0; i < config.depth; ++i) {  // hidden_after_block: the residual stream.
      std::vector<float> stream = trace.residual[i];
      for (size_t k = 0; k < stream.size(); ++k) stream[k] += trace.hidden[i][k];
      EXPECT_LE(RelMax(stream, want("hidden_after_block_" + std::to_string(i))), kTolerance) << i;
    }
    EXPECT_LE(MaxDifference(trace.normed, want("norm_f")), kTolerance);
    EXPECT_LE(MaxDifference(pooled, want("pooled")), kTolerance);
  }
}

// The card's clips; those with stored pixels are the parameters.
const nlohmann::json& Expected() {
  static const auto* const kAll = new nlohmann::json(nlohmann::json::parse(
      std::ifstream(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json")));
  return *kAll;
}

TEST_P(StoredClip, PixelsGiveTheLogitsAndTheEmbedding) {
  const auto bundle = Load();
  const BackboneConfig& config = bundle->config().backbone;
  Clip clip;
  clip.width = clip.height = config.size;
  clip.pixels = file_.at("input_uint8").bytes;
  clip.windows.resize(1);
  clip.views.resize(1);
  for (int i = 0; i < config.frames; ++i) clip.views[0].pictures.push_back(i);
  std::vector<std::string> captions;
  std::vector<std::vector<float>> vectors;
  std::vector<float> embedding;
  for (const auto& entry : Expected().at("clips")) {
    captions.push_back(entry.at("caption"));
    vectors.push_back(entry.at("caption_embedding"));
    if (entry.at("file") == GetParam() + ".mp4") {
      embedding = entry.at("embedding").get<std::vector<float>>();
    }
  }
  const Cancel cancel;
  const PredictItem item{.clip = &clip,
                         .cancel = &cancel,
                         .tasks = {.classify = true, .embed = true, .match = true},
                         .texts = &captions};
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    auto predictor = Predictor::Create(bundle, {.kernel = kernels->name});
    ASSERT_TRUE(predictor.ok()) << predictor.status();
    const auto results = (*predictor)->Predict({&item, 1});
    ASSERT_TRUE(results[0].ok()) << results[0].status();
    EXPECT_LE(MaxDifference(results[0]->logits[0], Floats(file_.at("logits"))), kTolerance);
    EXPECT_LE(MaxDifference(results[0]->embeddings[0], embedding), kEmbeddingTolerance);
    const TextMatches matches = Match(clip, *results[0], bundle->temperature());
    for (size_t i = 0; i < captions.size(); ++i) {
      EXPECT_LE(MaxDifference(results[0]->texts[i].values, vectors[i]), kEmbeddingTolerance)
          << captions[i];
      double similarity = 0;
      for (size_t k = 0; k < embedding.size(); ++k) {
        similarity += static_cast<double>(embedding[k]) * vectors[i][k];
      }
      EXPECT_NEAR(matches.clip[i].similarity, similarity, kEmbeddingTolerance) << captions[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tagger24, StoredClip, ::testing::ValuesIn(StoredClips()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace scanline::testing
