#include "model/person/nms.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;

std::vector<float> Scores(const std::vector<PersonBox>& boxes) {
  std::vector<float> scores;
  for (const PersonBox& box : boxes) scores.push_back(box.score);
  return scores;
}

// Boxes of height 1 from `left` to `left + 0.4`.
PersonBox At(float left, float score) { return {left, 0, left + 0.4F, 1, score}; }

TEST(IntersectionOverUnion, IsTheSharedShareOfBoth) {
  EXPECT_FLOAT_EQ(IntersectionOverUnion(At(0, 1), At(0, 1)), 1);
  EXPECT_NEAR(IntersectionOverUnion(At(0, 1), At(0.2F, 1)), 1.0 / 3, 1e-6);
  EXPECT_EQ(IntersectionOverUnion(At(0, 1), At(0.5F, 1)), 0);
  EXPECT_EQ(IntersectionOverUnion(At(0, 1), {0.3F, 0, 0.3F, 1, 1}), 0) << "an empty box";
  EXPECT_EQ(IntersectionOverUnion({1, 1, 0, 0, 1}, {1, 1, 0, 0, 1}), 0) << "turned inside out";
}

TEST(SuppressOverlaps, KeepsTheBestOfEachHeapAndOrdersByScore) {
  const auto kept = SuppressOverlaps({At(0, 0.5F), At(0.05F, 0.9F), At(0.5F, 0.7F)}, {});
  EXPECT_THAT(Scores(kept), ElementsAre(0.9F, 0.7F));
}

TEST(SuppressOverlaps, ABoxThatWentSuppressesNothing) {
  // Each overlaps its neighbour by 0.6 of the union, the outer two by a third.
  const std::vector<PersonBox> row = {At(0, 0.9F), At(0.1F, 0.8F), At(0.2F, 0.7F)};
  EXPECT_THAT(Scores(SuppressOverlaps(row, {.max_iou = 0.5F})), ElementsAre(0.9F, 0.7F));
  EXPECT_THAT(Scores(SuppressOverlaps(row, {.max_iou = 0.7F})), ElementsAre(0.9F, 0.8F, 0.7F));
}

TEST(SuppressOverlaps, TheLimitItselfIsAllowed) {
  const std::vector<PersonBox> half = {{0, 0, 1, 1, 0.9F}, {0, 0, 0.5F, 1, 0.8F}};  // 0.5 shared
  EXPECT_EQ(SuppressOverlaps(half, {.max_iou = 0.5F}).size(), 2);
  EXPECT_EQ(SuppressOverlaps(half, {.max_iou = 0.499F}).size(), 1);
}

TEST(SuppressOverlaps, OfEqualScoresTheEarlierStays) {
  const auto kept = SuppressOverlaps({At(0.05F, 0.5F), At(0, 0.5F)}, {});
  ASSERT_EQ(kept.size(), 1);
  EXPECT_EQ(kept[0].x_min, 0.05F);
}

TEST(SuppressOverlaps, AScoreAtTheThresholdOrNoNumberGoes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto kept =
      SuppressOverlaps({At(0, 0.3F), At(0.5F, 0.31F), At(0.9F, nan)}, {.min_score = 0.3F});
  EXPECT_THAT(Scores(kept), ElementsAre(0.31F));
}

TEST(SuppressOverlaps, TakesNoMoreThanAskedFor) {
  const std::vector<PersonBox> row = {At(0, 0.1F), At(1, 0.2F), At(2, 0.3F)};
  EXPECT_THAT(Scores(SuppressOverlaps(row, {.max_boxes = 2})), ElementsAre(0.3F, 0.2F));
  EXPECT_TRUE(SuppressOverlaps(row, {.max_boxes = 0}).empty());
}

}  // namespace
}  // namespace scanline
