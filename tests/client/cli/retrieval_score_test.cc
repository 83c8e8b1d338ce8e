#include "client/cli/retrieval_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using Places = std::vector<size_t>;

std::vector<ItemScore> Similarities(const std::vector<double>& values) {
  std::vector<ItemScore> items;
  for (const double value : values) items.push_back({.similarity = value});
  return items;
}

TEST(RankOfFirstRight, CountsTheWrongItemsThatAreNoWorse) {
  const auto items = Similarities({0.3, 0.9, 0.5, 0.1});
  EXPECT_EQ(RankOfFirstRight(items, Places{1}), 1);
  EXPECT_EQ(RankOfFirstRight(items, Places{2}), 2);
  EXPECT_EQ(RankOfFirstRight(items, Places{3}), 4);
}

TEST(RankOfFirstRight, TakesTheBestOfSeveralRightItems) {
  const auto items = Similarities({0.3, 0.9, 0.5, 0.1});
  EXPECT_EQ(RankOfFirstRight(items, Places{2, 3}), 2);
  EXPECT_EQ(RankOfFirstRight(items, Places{1, 2}), 1);
  EXPECT_EQ(RankOfFirstRight(items, Places{0, 2}), 2) << "the other right one does not count";
}

TEST(RankOfFirstRight, CountsTiesAgainstTheModel) {
  EXPECT_EQ(RankOfFirstRight(Similarities({0.5, 0.5, 0.5}), Places{0}), 3);
  EXPECT_EQ(RankOfFirstRight(Similarities({0.5, 0.5, 0.5}), Places{0, 1, 2}), 1);
}

TEST(RankOfFirstRight, LooksAtTheMatchFirstAndAtTheSimilarityThen) {
  const std::vector<ItemScore> items = {{.match = -3, .similarity = 0.9},
                                        {.match = 2, .similarity = 0.8},
                                        {.similarity = 0.7},
                                        {.similarity = 0.6}};
  EXPECT_EQ(RankOfFirstRight(items, Places{1}), 1);
  EXPECT_EQ(RankOfFirstRight(items, Places{0}), 2);
  EXPECT_EQ(RankOfFirstRight(items, Places{2}), 3) << "before the less similar one";
  EXPECT_EQ(RankOfFirstRight(items, Places{3}), 4);
}

TEST(MostSimilar, TakesTheBestTheEarlierFirst) {
  EXPECT_THAT(MostSimilar(Similarities({0.1, 0.7, 0.9, 0.7}), 3), ElementsAre(2, 1, 3));
  EXPECT_THAT(MostSimilar(Similarities({0.1}), 3), ElementsAre(0));
}

TEST(Similarity, IsTheDotProduct) {
  EXPECT_DOUBLE_EQ(Similarity(std::vector<float>{1, 2, 3}, std::vector<float>{0.5, -1, 2}), 4.5);
}

// Ranks 1, 2, 6 and 11 of 11 items.
TEST(ScoreRetrieval, GivesRecallsMedianRankAndMisses) {
  const size_t right[] = {0, 1, 5, 10};
  const auto items = [](size_t) { return Similarities({11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}); };
  const auto scores = ScoreRetrieval(4, items, [&](size_t query) { return Places{right[query]}; });
  EXPECT_EQ(scores.recall_at_1.right, 1);
  EXPECT_EQ(scores.recall_at_5.right, 2);
  EXPECT_EQ(scores.recall_at_10.right, 3);
  EXPECT_EQ(scores.recall_at_10.of, 4);
  EXPECT_DOUBLE_EQ(scores.median_rank, 4);  // the middle of 2 and 6
  ASSERT_EQ(scores.misses.size(), 3U);
  EXPECT_EQ(scores.misses[0].query, 3U);
  EXPECT_EQ(scores.misses[0].rank, 11);
  EXPECT_EQ(scores.misses[0].first, 0U);
  EXPECT_EQ(scores.misses[2].query, 1U);
}

TEST(ScoreRetrieval, HasNoFiguresWithoutQueries) {
  const auto scores = ScoreRetrieval(0, nullptr, nullptr);
  EXPECT_TRUE(std::isnan(scores.recall_at_1.value));
  EXPECT_TRUE(std::isnan(scores.median_rank));
}

}  // namespace
}  // namespace scanline::cli
