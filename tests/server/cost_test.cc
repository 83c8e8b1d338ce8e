#include "server/cost.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/doubles.h"

namespace scanline {
namespace {

using Texts = std::vector<std::string>;

// The shapes of the default bundle.
ModelConfig Tagger24() {
  ModelConfig config;
  config.backbone = {.embed_dim = 96,
                     .depth = 5,
                     .d_state = 8,
                     .dt_rank = 6,
                     .patch = 8,
                     .tubelet = 4,
                     .frames = 16,
                     .size = 64};
  config.embed = EmbedConfig{.dim = 64};
  config.text_tower = TextTowerConfig{.dim = 64, .depth = 2, .kernel = 5, .max_words = 24};
  return config;
}

// VideoMamba-M of 8 frames with BERT-base, as released for retrieval.
ModelConfig MiddleWithBert() {
  ModelConfig config;
  config.backbone = {.embed_dim = 576, .depth = 32, .dt_rank = 36};
  config.embed = EmbedConfig{.dim = 512};
  config.text_tower = TextTowerConfig{.type = TextTowerType::kBert,
                                      .dim = 768,
                                      .depth = 9,
                                      .fusion_depth = 3,
                                      .heads = 12,
                                      .intermediate = 3072,
                                      .max_length = 32};
  return config;
}

TEST(TextCost, NoTextsAndNoTowerCostNothingAndAnyTextAtLeastOne) {
  EXPECT_EQ(TextCost(Tagger24(), {}), 0);
  EXPECT_EQ(TextCost(Tagger24(), {"a"}), 1);
  EXPECT_EQ(TextCost(ModelConfig{}, {"a"}), 0);
}

// By hand, in thousands of multiply-adds: a token of the backbone 5 x (55.3 + 2 x 192 x (4 + 22 + 6
// + 24)) = 5 x 76.8 = 384; a word 2 x (3 x 4.096 + 0.32) = 25.2; 6 words and the projection 155.
TEST(TextCost, IsTheShareOfTheTowersWorkInTheBackbones) {
  const std::string six_words = "the camera pans to the left now";  // 31 bytes: 1 + 5 words
  EXPECT_EQ(TextCost(Tagger24(), Texts(1000, six_words)), 405);
}

TEST(TextCost, GrowsWithTheTextUpToWhatTheTowerReads) {
  for (const ModelConfig& config : {Tagger24(), MiddleWithBert()}) {
    const int64_t shorter = TextCost(config, Texts(100, std::string(20, 'x')));
    const int64_t longer = TextCost(config, Texts(100, std::string(100, 'x')));
    const int64_t cut = TextCost(config, Texts(100, std::string(300, 'x')));
    EXPECT_LT(shorter, longer);
    EXPECT_LT(longer, cut);
    EXPECT_EQ(cut, TextCost(config, Texts(100, std::string(4000, 'x'))));
  }
}

// 85 M parameters of nine BERT layers read once a token against 75 M of the backbone: about as
// dear.
TEST(TextCost, ATokenOfBertBaseIsAboutOneOfTheMiddleBackbone) {
  const int64_t cost = TextCost(MiddleWithBert(), {std::string(4 * 29, 'x')});  // 32 tokens
  EXPECT_GT(cost, 16);
  EXPECT_LT(cost, 64);
}

TEST(RerankCost, LooksAtTheBestTextsAloneAndAtEveryView) {
  const ModelConfig config = MiddleWithBert();
  const int64_t few = RerankCost(config, Texts(10, "a dog runs"), 1);
  const int64_t most = RerankCost(config, Texts(128, "a dog runs"), 1);
  EXPECT_GT(few, 0);
  EXPECT_LT(few, most);
  EXPECT_EQ(most, RerankCost(config, Texts(1000, "a dog runs"), 1));
  EXPECT_NEAR(static_cast<double>(RerankCost(config, Texts(10, "a dog runs"), 4)), 4.0 * few, 4);
  EXPECT_EQ(RerankCost(config, {}, 1), 0);
}

}  // namespace
}  // namespace scanline
