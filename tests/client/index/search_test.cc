#include "client/index/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "client/index/dot.h"
#include "tests/client/index/index_folder.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Of each row in double, beside the sum of the products' sizes, which is what rounding grows with.
struct Exact {
  double dot = 0;
  double size = 0;
};
Exact ExactDot(const float* row, const std::vector<float>& query) {
  Exact exact;
  for (size_t i = 0; i < query.size(); ++i) {
    exact.dot += double{row[i]} * query[i];
    exact.size += std::abs(double{row[i]} * query[i]);
  }
  return exact;
}

class Dims : public ::testing::TestWithParam<int> {};

TEST_P(Dims, ScoresAreTheDotProducts) {
  const auto dim = static_cast<size_t>(GetParam());
  const std::vector<float> query = Random(dim, 1);
  const std::vector<float> rows = Random(dim * 97, 2);
  for (const auto& scores : {ScoreRows(rows, query), [&] {
                               std::vector<float> plain(97);
                               DotRowsPlain(rows.data(), 97, GetParam(), query.data(),
                                            plain.data());
                               return plain;
                             }()}) {
    ASSERT_EQ(scores.size(), 97U);
    for (size_t r = 0; r < scores.size(); ++r) {
      const Exact exact = ExactDot(rows.data() + r * dim, query);
      // Any order of float32 sums stays within dim * 2^-24 of the products' sizes.
      const double bound = exact.size * static_cast<double>(dim) * 0x1p-24 + 1e-12;
      EXPECT_NEAR(scores[r], exact.dot, bound) << "row " << r;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Search, Dims,
                         ::testing::Values(1, 3, 7, 8, 31, 32, 33, 64, 100, 512, 768));

TEST(ScoreRows, DoNotDependOnThreadsOrNeighbours) {
  const std::vector<float> query = Random(64, 3);
  const std::vector<float> rows = Random(size_t{64} * 20'000, 4);
  const std::vector<float> one = ScoreRows(rows, query, 1);
  EXPECT_EQ(ScoreRows(rows, query, 2), one);
  EXPECT_EQ(ScoreRows(rows, query, 7), one);
  EXPECT_EQ(ScoreRows(absl::MakeSpan(rows).subspan(size_t{64} * 12'345, 64), query)[0],
            one[12'345]);
}

TEST(TopRows, AreThoseOfAFullSort) {
  std::vector<float> scores = Random(5'000, 5);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = std::round(scores[i] * 50);  // many ties
  std::vector<int64_t> sorted(scores.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int64_t a, int64_t b) { return scores[size_t(a)] > scores[size_t(b)]; });
  for (const int64_t k : {0, 1, 10, 4'999, 5'000, 9'000}) {
    std::vector<int64_t> best = sorted;
    best.resize(std::min<size_t>(size_t(k), best.size()));
    EXPECT_EQ(TopRows(scores, k), best) << k;
  }
}

TEST(TopRows, PutNotANumberLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(TopRows(std::vector<float>{nan, -1, nan, 3}, 3), ElementsAre(3, 1, 0));
  EXPECT_THAT(TopRows(std::vector<float>{}, 3), IsEmpty());
}

// Against sums in double over the whole index: the same rows in the same order.
TEST(BestMoments, AreThoseOfBruteForceInDouble) {
  const testing::TempFolder folder;
  IndexInfo info = testing::SmallInfo();
  info.dim = 64;
  const auto writer = IndexWriter::Open(folder.path(), info);
  ASSERT_TRUE(writer.ok());
  for (int file = 0; file < 80; ++file) {
    ASSERT_TRUE(
        (*writer)->Append(testing::ItemsOf(file, 1), Random(64, 100 + uint32_t(file))).ok());
  }
  ASSERT_TRUE((*writer)->Commit().ok());
  const auto index = IndexReader::Open(folder.path());
  ASSERT_TRUE(index.ok());
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> query = Random(64, 1'000 + seed);
    std::vector<int64_t> sorted(80);
    std::iota(sorted.begin(), sorted.end(), 0);
    const auto exact = [&](int64_t row) {
      return ExactDot((*index)->rows().data() + row * 64, query).dot;
    };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](int64_t a, int64_t b) { return exact(a) > exact(b); });
    const auto found =
        BestMoments(**index, ScoreRows((*index)->rows(), query), 10, Distinct::kMoments);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 10U);
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_EQ((*found)[i].row, sorted[i]);
      EXPECT_NEAR((*found)[i].score, exact(sorted[i]), 1e-4);
      EXPECT_EQ((*found)[i].item, testing::ItemsOf(static_cast<int>(sorted[i]), 1)[0]);
    }
  }
}

class Moments : public ::testing::Test {
 protected:
  // Two files of six windows [0, 1), [0.5, 1.5), ...
  void SetUp() override {
    auto writer = IndexWriter::Open(folder_.path(), testing::SmallInfo());
    ASSERT_TRUE(writer.ok());
    for (int file = 0; file < 2; ++file) testing::AppendFile(**writer, file, 6);
    ASSERT_TRUE((*writer)->Commit().ok());
    auto index = IndexReader::Open(folder_.path());
    ASSERT_TRUE(index.ok());
    index_ = *std::move(index);
  }

  std::vector<int64_t> Best(const std::vector<float>& scores, int64_t k, Distinct distinct) const {
    const auto moments = BestMoments(*index_, scores, k, distinct);
    EXPECT_TRUE(moments.ok()) << moments.status();
    std::vector<int64_t> rows;
    for (const Moment& moment : *moments) rows.push_back(moment.row);
    return rows;
  }

  const testing::TempFolder folder_;
  std::unique_ptr<IndexReader> index_;
};

TEST_F(Moments, OfOneFileDoNotOverlapABetterOne) {
  //                              file 0: 0..2.5 s                   file 1
  const std::vector<float> scores = {.1F, .9F, .8F, .7F, .2F, .3F, .85F, .1F, 0, 0, 0, .84F};
  // Row 2 overlaps row 1; row 3 begins as row 1 ends; row 11 is far from row 6.
  EXPECT_THAT(Best(scores, 4, Distinct::kMoments), ElementsAre(1, 6, 11, 3));
  EXPECT_THAT(Best(scores, 1, Distinct::kMoments), ElementsAre(1));
  EXPECT_THAT(Best(scores, 10, Distinct::kFiles), ElementsAre(1, 6));
}

TEST_F(Moments, AreFoundHoweverManyRowsOfOneFileComeFirst) {
  std::vector<float> scores = {.9F, .91F, .92F, .93F, .94F, .95F, .1F, .2F, .3F, .1F, .1F, .1F};
  EXPECT_THAT(Best(scores, 2, Distinct::kFiles), ElementsAre(5, 8));
}

}  // namespace
}  // namespace scanline
