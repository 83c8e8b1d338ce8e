#include "client/cli/retrieval_score.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace scanline::cli {
namespace {

Share RecallAt(int k, const std::vector<int>& ranks) {
  const auto found = std::count_if(ranks.begin(), ranks.end(), [k](int rank) { return rank <= k; });
  return ShareOf(static_cast<int>(found), static_cast<int>(ranks.size()));
}

double Median(std::vector<int> ranks) {
  if (ranks.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(ranks.begin(), ranks.end());
  const size_t middle = ranks.size() / 2;
  if (ranks.size() % 2 == 1) return ranks[middle];
  return (ranks[middle - 1] + ranks[middle]) / 2.0;
}

}  // namespace

double Similarity(absl::Span<const float> a, absl::Span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::vector<size_t> MostSimilar(absl::Span<const ItemScore> items, size_t count) {
  std::vector<size_t> places(items.size());
  std::iota(places.begin(), places.end(), size_t{0});
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(std::min(count, places.size()));
  std::partial_sort(places.begin(), end, places.end(), [&](size_t a, size_t b) {
    if (items[a].similarity != items[b].similarity) {
      return items[a].similarity > items[b].similarity;
    }
    return a < b;
  });
  places.erase(end, places.end());
  return places;
}

int RankOfFirstRight(absl::Span<const ItemScore> items, absl::Span<const size_t> right) {
  ItemScore best = items[right[0]];
  for (const size_t place : right) best = std::max(best, items[place]);
  int rank = 1;
  size_t next_right = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (next_right < right.size() && right[next_right] == i) {
      ++next_right;
    } else if (!(items[i] < best)) {
      ++rank;
    }
  }
  return rank;
}

RetrievalScores ScoreRetrieval(size_t queries,
                               const std::function<std::vector<ItemScore>(size_t query)>& items_of,
                               const std::function<std::vector<size_t>(size_t query)>& right_of) {
  RetrievalScores scores;
  std::vector<int> ranks;
  for (size_t query = 0; query < queries; ++query) {
    const std::vector<ItemScore> items = items_of(query);
    const std::vector<size_t> right = right_of(query);
    ranks.push_back(RankOfFirstRight(items, right));
    if (ranks.back() == 1) continue;
    Miss miss{.query = query, .rank = ranks.back()};
    bool found = false;
    for (size_t i = 0; i < items.size(); ++i) {  // The first wrong one of the best.
      if (std::binary_search(right.begin(), right.end(), i)) continue;
      if (!found || items[miss.first] < items[i]) miss.first = i;
      found = true;
    }
    scores.misses.push_back(miss);
  }
  scores.recall_at_1 = RecallAt(1, ranks);
  scores.recall_at_5 = RecallAt(5, ranks);
  scores.recall_at_10 = RecallAt(10, ranks);
  scores.median_rank = Median(ranks);
  std::stable_sort(scores.misses.begin(), scores.misses.end(),
                   [](const Miss& a, const Miss& b) { return a.rank > b.rank; });
  return scores;
}

}  // namespace scanline::cli
