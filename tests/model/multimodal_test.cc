// The official multimodal model's vectors: what the vision tower gives, and where it meets text.
#include "tests/model/multimodal.h"

#include <gtest/gtest.h>

#include "model/backbone.h"
#include "model/heads.h"
#include "model/match.h"
#include "model/patches.h"
#include "model/text/text_encoder.h"
#include "tests/model/kernels/kernels_here.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 2e-5;  // mm_*: tests/data/reference/README.md

class Multimodal : public ::testing::TestWithParam<std::string> {
 protected:
  size_t Rows(const char* name) const { return static_cast<size_t>(file_.at(name).shape[0]); }

  // Row `index` of a tensor [rows][...].
  std::vector<float> Want(const std::string& name, size_t index) const {
    const StoredTensor& tensor = file_.at(name);
    const auto count = static_cast<size_t>(tensor.size() / tensor.shape[0]);
    return Part(Floats(tensor), index * count, count);
  }

  SafetensorsFile file_ = ReadReference(GetParam());
  Weights weights_ = MultimodalWeights(file_);
  ModelConfig config_ = MultimodalConfig(file_, weights_);
};

// The tokens after the final norm without cls: what the fusion layers read.
std::vector<float> PatchTokens(const float* normed, const BackboneConfig& config) {
  return {normed + config.embed_dim,
          normed + static_cast<ptrdiff_t>(config.tokens()) * config.embed_dim};
}

TEST_P(Multimodal, VideosHaveTheStoredVectors) {
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    Backbone backbone(config_.backbone, weights_, *kernels);
    EmbedHead head(config_.backbone, *config_.embed, weights_, *kernels);
    for (size_t i = 0; i < Rows("video_btchw"); ++i) {
      PatchesFromVideo(VideoOf(file_, i, config_.backbone.frames).data(), config_.backbone,
                       backbone.patches());
      const float* normed = backbone.Run(Backbone::Rows::kAll);
      EXPECT_LE(RelMax(PatchTokens(normed, config_.backbone), Want("vision_embeds", i)),
                kTolerance);
      EmbedTrace trace;
      head.Run(normed, &trace);
      EXPECT_EQ(trace.steps, file_.at("vision_pooled").shape[1]);
      EXPECT_LE(RelMax(trace.pooled, Want("vision_pooled", i)), kTolerance);
      EXPECT_LE(RelMax(trace.projected, Want("vision_proj", i)), kTolerance);
      EXPECT_LE(RelMax(trace.normalised, Want("vision_proj_norm", i)), kTolerance);
    }
  }
}

TEST_P(Multimodal, AnImageIsOneStepWithoutTime) {
  const BackboneConfig still = StillOf(config_.backbone);
  EXPECT_EQ(still.steps(), 1);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    Backbone backbone(still, weights_, *kernels);
    EmbedHead head(still, *config_.embed, weights_, *kernels);
    for (size_t i = 0; i < Rows("image_vision_embeds"); ++i) {
      PatchesFromVideo(VideoOf(file_, i, 1).data(), still, backbone.patches());
      const float* normed = backbone.Run(Backbone::Rows::kAll);
      EXPECT_LE(RelMax(PatchTokens(normed, still), Want("image_vision_embeds", i)), kTolerance);
      EmbedTrace trace;
      head.Run(normed, &trace);
      EXPECT_LE(RelMax(trace.pooled, Want("image_vision_pooled", i)), kTolerance);
    }
  }
}

// Videos by the vision tower, texts from the file: the mean over steps of unit vectors, not
// normalised again, gives the reference's similarities.
TEST_P(Multimodal, SimilaritiesAreDotProductsWithTheMeanVector) {
  Backbone backbone(config_.backbone, weights_, BestKernels());
  EmbedHead head(config_.backbone, *config_.embed, weights_, BestKernels());
  const float temperature = *weights_.Data("temp");
  const size_t texts = Rows("text_proj_norm");
  Clip clip;
  clip.views.resize(1);
  clip.windows.resize(1);
  std::vector<float> by_video;
  std::vector<float> over_temp;
  for (size_t i = 0; i < Rows("video_btchw"); ++i) {
    PatchesFromVideo(VideoOf(file_, i, config_.backbone.frames).data(), config_.backbone,
                     backbone.patches());
    Prediction prediction;
    prediction.embeddings.push_back(head.Run(backbone.Run(Backbone::Rows::kAll)).scored);
    for (size_t t = 0; t < texts; ++t) {
      prediction.texts.push_back({.values = Want("text_proj_norm", t)});
    }
    const TextMatches matches = Match(clip, prediction, temperature);
    double total = 0;
    const auto logits = Want("sim_v2t_over_temp", i);
    for (float logit : logits) total += std::exp(static_cast<double>(logit) - logits[0]);
    for (size_t t = 0; t < texts; ++t) {
      by_video.push_back(matches.clip[t].similarity);
      over_temp.push_back(matches.clip[t].similarity / temperature);
      EXPECT_NEAR(matches.clip[t].score,
                  std::exp(static_cast<double>(logits[t]) - logits[0]) / total, 1e-4);
    }
  }
  EXPECT_LE(RelMax(by_video, Floats(file_.at("sim_v2t"))), kTolerance);
  EXPECT_LE(RelMax(over_temp, Floats(file_.at("sim_v2t_over_temp"))), kTolerance);
  EXPECT_LE(
      RelMax(Transposed(by_video, 0, by_video.size() / texts, texts), Floats(file_.at("sim_t2v"))),
      kTolerance);
}

// From texts and videos to the rerank's logit.
TEST_P(Multimodal, FusionGivesTheStoredMatchLogits) {
  auto encoder = TextEncoder::Create(config_, weights_);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  std::vector<std::string> texts;
  for (size_t t = 0; t < Rows("input_ids"); ++t) texts.push_back(TextOf(file_, t));
  const auto encoded = (*encoder)->Encode(texts, true, Cancel());
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  Backbone backbone(config_.backbone, weights_, BestKernels());
  const auto fusion = FusionScorer::Create(config_, weights_);
  std::vector<float> got;
  std::vector<float> want;
  for (size_t i = 0; i < Rows("video_btchw"); ++i) {
    PatchesFromVideo(VideoOf(file_, i, config_.backbone.frames).data(), config_.backbone,
                     backbone.patches());
    const float* normed = backbone.Run(Backbone::Rows::kAll);
    const auto logits = Want("itm_logits_video_by_text", i);
    for (size_t t = 0; t < texts.size(); ++t) {
      ASSERT_EQ((*encoded)[t].embedding.tokens, TokensOf(file_, t));
      EXPECT_LE(RelMax((*encoded)[t].embedding.values, Want("text_proj_norm", t)), kTolerance);
      got.push_back(fusion->Score((*encoded)[t].hidden.data(), (*encoded)[t].embedding.tokens,
                                  normed + config_.backbone.embed_dim,
                                  config_.backbone.tokens() - 1));
      want.push_back(logits[2 * t + 1]);
    }
  }
  EXPECT_LE(RelMax(got, want), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Vectors, Multimodal, ::testing::ValuesIn(ReferenceNames({"mm_"})),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace scanline::testing
