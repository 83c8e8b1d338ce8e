#include "model/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

Clip ClipOf(const std::vector<int>& view_windows, int windows) {
  Clip clip;
  clip.windows.resize(windows);
  for (int window : view_windows) clip.views.push_back({.window = window});
  return clip;
}

TEST(Classify, AveragesTheSoftmaxOfTheViewsAsTheOfficialEvaluationDoes) {
  const SafetensorsFile file = ReadReference("view_fusion");
  const StoredTensor& logits = file.at("logits");
  const size_t classes = logits.shape[1];
  Prediction prediction;
  for (size_t view = 0; view < static_cast<size_t>(logits.shape[0]); ++view) {
    prediction.logits.push_back(Part(Floats(logits), view * classes, classes));
  }
  const Clip clip = ClipOf(std::vector<int>(prediction.logits.size(), 0), 1);
  const Classification result = Classify(clip, prediction, ScoreKind::kSoftmax);
  std::vector<float> scores(classes), mean_logits(classes);
  for (const ClassScore& score : result.classes) {
    scores[score.row] = score.score;
    mean_logits[score.row] = score.logit;
  }
  EXPECT_LE(RelMax(scores, Floats(file.at("mean_softmax"))), 1e-6);
  EXPECT_LE(RelMax(mean_logits, Floats(file.at("mean_logits"))), 1e-6);
  EXPECT_TRUE(std::is_sorted(result.classes.begin(), result.classes.end(),
                             [](auto& a, auto& b) { return a.score > b.score; }));
}

TEST(Classify, GivesEachWindowItsOwnAnswerAndTheClipTheMeanOfAllViews) {
  // Two views in window 0, one in window 1; softmax of [0, ln 3] is [1/4, 3/4].
  const float ln3 = std::log(3.0f);
  const Prediction prediction{.logits = {{0, ln3}, {0, 0}, {ln3, 0}}};
  const Classification result = Classify(ClipOf({0, 0, 1}, 2), prediction, ScoreKind::kSoftmax);
  ASSERT_EQ(result.windows.size(), 2u);
  EXPECT_EQ(result.windows[0][0].row, 1);
  EXPECT_FLOAT_EQ(result.windows[0][0].score, 0.625f);
  EXPECT_EQ(result.windows[1][0].row, 0);
  EXPECT_FLOAT_EQ(result.windows[1][0].score, 0.75f);
  EXPECT_FLOAT_EQ(result.classes[0].score, 0.5f);
}

TEST(Classify, EqualScoresKeepTheRowOrder) {
  const Classification result =
      Classify(ClipOf({0}, 1), {.logits = {{1, 2, 1, 2}}}, ScoreKind::kSoftmax);
  std::vector<int> rows;
  for (const ClassScore& score : result.classes) rows.push_back(score.row);
  EXPECT_THAT(rows, ::testing::ElementsAre(1, 3, 0, 2));
}

TEST(Classify, ScoresIndependentLabelsBySigmoid) {
  const Classification result =
      Classify(ClipOf({0, 0}, 1), {.logits = {{0, 100}, {0, -100}}}, ScoreKind::kSigmoid);
  EXPECT_FLOAT_EQ(result.classes[0].score, 0.5f);
  EXPECT_FLOAT_EQ(result.classes[1].score, 0.5f);
}

TEST(Classify, StaysFiniteForLargeLogits) {
  const Classification result =
      Classify(ClipOf({0}, 1), {.logits = {{3e38f, -3e38f}}}, ScoreKind::kSoftmax);
  EXPECT_EQ(result.classes[0].score, 1.0f);
  EXPECT_EQ(result.classes[1].score, 0.0f);
}

}  // namespace
}  // namespace scanline::testing
