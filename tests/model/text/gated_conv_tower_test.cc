// The default bundle's text tower against the values that came with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/bundle.h"
#include "model/text/text_encoder.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/reference.h"
#include "tests/model/text/text_support.h"

namespace scanline::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-5;  // rel-max; the values are stored with seven decimals

std::shared_ptr<const ModelBundle> Load() {
  auto bundle = ModelBundle::Load(SCANLINE_SOURCE_DIR "/assets/models/tagger24");
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  return *bundle;
}

nlohmann::json Expected() {
  return nlohmann::json::parse(ReadWhole(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json"));
}

TEST(GatedConvTower, GivesTheCardsTextEmbeddings) {
  const auto bundle = Load();
  const nlohmann::json expected = Expected();
  ASSERT_FALSE(expected.at("texts").empty());
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    auto encoder = TextEncoder::Create(bundle->config(), bundle->weights(), *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    for (const auto& entry : expected.at("texts")) {
      const std::string text = entry.at("text");
      const auto encoded = (*encoder)->Encode({&text, 1}, false, Cancel());
      if (entry.at("embedding").is_null()) {
        EXPECT_EQ(ReasonOf(encoded.status()), Reason::kFieldInvalid) << text;
        continue;
      }
      ASSERT_TRUE(encoded.ok()) << encoded.status();
      const TextEmbedding& embedding = encoded->front().embedding;
      EXPECT_LE(RelMax(embedding.values, entry.at("embedding").get<std::vector<double>>()),
                kTolerance)
          << text;
      EXPECT_EQ(embedding.unknown_words, entry.at("unknown").get<std::vector<std::string>>());
      EXPECT_FALSE(embedding.truncated);
    }
  }
}

TEST(GatedConvTower, GivesTheCaptionsEmbeddingsTogetherAndAlone) {
  const auto bundle = Load();
  const nlohmann::json expected = Expected();
  std::vector<std::string> captions;
  for (const auto& clip : expected.at("clips")) captions.push_back(clip.at("caption"));
  ASSERT_FALSE(captions.empty());
  for (const Kernels* kernels : KernelsHere()) {
    auto encoder = TextEncoder::Create(bundle->config(), bundle->weights(), *kernels);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    const auto together = (*encoder)->Encode(captions, false, Cancel());
    ASSERT_TRUE(together.ok()) << together.status();
    for (size_t i = 0; i < captions.size(); ++i) {
      const std::vector<float>& values = (*together)[i].embedding.values;
      EXPECT_LE(RelMax(values,
                       expected.at("clips")[i].at("caption_embedding").get<std::vector<double>>()),
                kTolerance)
          << captions[i];
      const auto alone = (*encoder)->Encode({&captions[i], 1}, false, Cancel());
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(alone->front().embedding.values, values) << captions[i];
    }
  }
}

TEST(GatedConvTower, NamesTheTextWithoutAKnownWord) {
  const auto bundle = Load();
  auto encoder = TextEncoder::Create(bundle->config(), bundle->weights());
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  for (const char* wrong : {"zebra giraffe", "", "the \xC3"}) {
    const std::vector<std::string> texts = {"a ball moves left", wrong};
    const auto encoded = (*encoder)->Encode(texts, false, Cancel());
    EXPECT_EQ(ReasonOf(encoded.status()), Reason::kFieldInvalid) << wrong;
    EXPECT_THAT(std::string(encoded.status().message()), HasSubstr("texts[1]"));
  }
}

TEST(GatedConvTower, CutsLongTextsAndSaysSo) {
  const auto bundle = Load();
  auto encoder = TextEncoder::Create(bundle->config(), bundle->weights());
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  std::string text;
  for (int i = 0; i <= bundle->config().text_tower->max_words; ++i) text += "ball ";
  const auto encoded = (*encoder)->Encode({&text, 1}, false, Cancel());
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  EXPECT_TRUE(encoded->front().embedding.truncated);
  EXPECT_EQ(encoded->front().embedding.tokens, bundle->config().text_tower->max_words);
}

}  // namespace
}  // namespace scanline::testing
