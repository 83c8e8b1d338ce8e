#include "model/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scanline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::FloatNear;

// Two views of window 0 and one of window 1.
Clip ThreeViews() {
  Clip clip;
  clip.windows.resize(2);
  clip.views.resize(3);
  clip.views[2].window = 1;
  return clip;
}

Prediction TwoTexts() {
  Prediction prediction;
  prediction.embeddings = {{1, 0}, {0, 1}, {-1, 0}};
  prediction.texts = {{.values = {1, 0}}, {.values = {0.6f, 0.8f}}};
  return prediction;
}

TEST(MeanEmbeddings, AreMeansOverViewsNotNormalisedAgain) {
  const auto means = MeanEmbeddings(ThreeViews(), TwoTexts().embeddings);
  EXPECT_THAT(means.clip, ElementsAre(FloatEq(0), FloatEq(1.0f / 3)));
  EXPECT_THAT(means.windows, ElementsAre(ElementsAre(0.5f, 0.5f), ElementsAre(-1, 0)));
}

TEST(MeanEmbeddings, AreEmptyWithoutVectors) {
  const auto means = MeanEmbeddings(ThreeViews(), {});
  EXPECT_TRUE(means.clip.empty());
  EXPECT_THAT(means.windows, ElementsAre(ElementsAre(), ElementsAre()));
}

TEST(Match, IsTheMeanOfTheViewsSimilarities) {
  const auto matches = Match(ThreeViews(), TwoTexts(), 1);
  ASSERT_EQ(matches.clip.size(), 2u);
  EXPECT_FLOAT_EQ(matches.clip[0].similarity, 0);
  EXPECT_FLOAT_EQ(matches.clip[1].similarity, (0.6f + 0.8f - 0.6f) / 3);
  ASSERT_EQ(matches.windows.size(), 2u);
  EXPECT_FLOAT_EQ(matches.windows[0][1].similarity, 0.7f);
  EXPECT_FLOAT_EQ(matches.windows[1][1].similarity, -0.6f);
}

TEST(Match, ScoresAreTheSoftmaxOverTheTextsAtTheTemperature) {
  for (const float temperature : {1.0f, 0.05f, 1e-4f}) {
    const auto matches = Match(ThreeViews(), TwoTexts(), temperature);
    const double wanted = 1 / (1 + std::exp((0.7 - 0.5) / temperature));
    EXPECT_THAT(matches.windows[0][0].score, FloatNear(static_cast<float>(wanted), 1e-6f));
    EXPECT_FLOAT_EQ(matches.windows[0][0].score + matches.windows[0][1].score, 1);
  }
}

TEST(Match, MatchLogitsAreMeansOverViews) {
  Prediction prediction = TwoTexts();
  prediction.match_logits = {{1, -100}, {2, -100}, {6, -100}};
  const auto matches = Match(ThreeViews(), prediction, 1);
  EXPECT_FLOAT_EQ(matches.clip[0].match_logit, 3);
  EXPECT_FLOAT_EQ(matches.clip[1].match_logit, -100);
  EXPECT_FLOAT_EQ(matches.windows[0][0].match_logit, 1.5f);
  EXPECT_FLOAT_EQ(matches.windows[1][0].match_logit, 6);
}

TEST(Match, TheVectorsOfALabelsPromptsAreOneUnitVector) {
  Prediction prediction = TwoTexts();
  prediction.texts = {
      {.values = {1, 0}}, {.values = {0, 1}}, {.values = {-1, 0}}, {.values = {-1, 0}}};
  const auto matches = Match(ThreeViews(), prediction, 1, /*prompts_per_text=*/2);
  ASSERT_EQ(matches.clip.size(), 2u);
  EXPECT_FLOAT_EQ(matches.windows[0][0].similarity, std::sqrt(0.5f));
  EXPECT_FLOAT_EQ(matches.windows[0][1].similarity, -0.5f);
}

TEST(WithPrompts, PutsEveryLabelIntoEveryTemplateLabelMajor) {
  EXPECT_THAT(WithPrompts({"a cat", "{}"}, {"{}", "see {} and {}"}),
              ElementsAre("a cat", "see a cat and a cat", "{}", "see {} and {}"));
}

}  // namespace
}  // namespace scanline::testing
