#include "client/cli/eval_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;

// The roots of (right/of - p)^2 = z^2 p (1 - p) / of, by the quadratic formula elsewhere.
TEST(ShareOf, HasWilsonsInterval) {
  const Share eight = ShareOf(8, 10);
  EXPECT_DOUBLE_EQ(eight.value, 0.8);
  EXPECT_NEAR(eight.low, 0.490162, 1e-6);
  EXPECT_NEAR(eight.high, 0.943318, 1e-6);
  const Share most = ShareOf(52, 56);
  EXPECT_NEAR(most.low, 0.830246, 1e-6);
  EXPECT_NEAR(most.high, 0.971874, 1e-6);
}

TEST(ShareOf, EndsAtNoneAndAll) {
  EXPECT_EQ(ShareOf(0, 10).low, 0);
  EXPECT_NEAR(ShareOf(0, 10).high, 0.277533, 1e-6);
  EXPECT_NEAR(ShareOf(10, 10).low, 0.722467, 1e-6);
  EXPECT_EQ(ShareOf(10, 10).high, 1);
  EXPECT_TRUE(std::isnan(ShareOf(0, 0).value));
}

TEST(ScoreClips, CountsTheFirstTheFirstFiveAndTheMeanOverClasses) {
  const Scores scores = ScoreClips(std::vector<JudgedClip>{
      {"a", 0, {0, 1}},
      {"b", 0, {1, 0}},  // second
      {"c", 0, {0}},
      {"d", 1, {2, 3, 4, 5, 6, 1}},  // sixth: not among the first five
      {"e", 2, {3, 4, 5, 6, 2}},     // fifth
      {"f", 2, {2}},
  });
  EXPECT_EQ(scores.top1.right, 3);
  EXPECT_EQ(scores.top5.right, 5);
  EXPECT_EQ(scores.top1.of, 6);
  EXPECT_DOUBLE_EQ(scores.mean_class, (2.0 / 3 + 0 + 0.5) / 3);
  ASSERT_EQ(scores.classes.size(), 3U);
  EXPECT_EQ(scores.classes[0].clips, 3);
  EXPECT_EQ(scores.classes[0].top1, 2);
  EXPECT_EQ(scores.classes[0].top5, 3);
  EXPECT_EQ(scores.classes[1].top5, 0);
  EXPECT_EQ(scores.classes[2].top5, 2);
}

TEST(ScoreClips, NamesTheClipsOfEachConfusionTheMostFrequentFirst) {
  const Scores scores = ScoreClips(std::vector<JudgedClip>{
      {"a", 2, {0}}, {"b", 1, {2}}, {"c", 1, {0}}, {"d", 1, {2}}, {"e", 1, {1}}, {"none", 1, {}}});
  ASSERT_EQ(scores.confusions.size(), 3U);
  EXPECT_EQ(scores.confusions[0].truth, 1);
  EXPECT_EQ(scores.confusions[0].taken_for, 2);
  EXPECT_THAT(scores.confusions[0].clips, ElementsAre("b", "d"));
  EXPECT_EQ(scores.confusions[1].truth, 1);
  EXPECT_EQ(scores.confusions[2].truth, 2);
  EXPECT_EQ(scores.top1.right, 1) << "no answer is not right";
}

}  // namespace
}  // namespace scanline::cli
