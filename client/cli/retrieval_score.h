#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/cli/eval_score.h"

namespace scanline::cli {

// How many of the best items by similarity are reranked, and what the others' match logit is:
// k_test and the fill value of VideoMamba's retrieval evaluation (tasks/retrieval_utils.py).
inline constexpr size_t kRerankedItems = 128;
inline constexpr double kNotReranked = -100;

// How well an item answers a query. The match logit decides where there is one, then the
// similarity: items that were not reranked keep the order of their similarities.
struct ItemScore {
  double match = kNotReranked;
  double similarity = 0;
  bool operator<(const ItemScore& other) const {
    return match != other.match ? match < other.match : similarity < other.similarity;
  }
};

// The dot product, which is the similarity of a clip's and a text's vector as the model scores them
// (reference: VideoMamba, models/criterions.py get_sim: the mean over steps of the products is the
// product with the mean).
double Similarity(absl::Span<const float> a, absl::Span<const float> b);

// The places of the `count` most similar ones, best first, the earlier first among equals.
std::vector<size_t> MostSimilar(absl::Span<const ItemScore> items, size_t count);

// Rank, from 1, of the best one of `right` (places in `items`, ascending, at least one): 1 + the
// wrong items that are no worse. So a tie counts against the model, and one that scores all items
// alike finds nothing.
int RankOfFirstRight(absl::Span<const ItemScore> items, absl::Span<const size_t> right);

// A query whose first answer was wrong.
struct Miss {
  size_t query = 0;
  size_t first = 0;  // the item that was ranked first
  int rank = 0;      // of the best right one
};

struct RetrievalScores {
  Share recall_at_1;
  Share recall_at_5;
  Share recall_at_10;
  double median_rank = 0;    // of the ranks' middle, or the mean of the two; NaN without queries
  std::vector<Miss> misses;  // worst first
};

// Ranks the items for each query. `items_of(q)` gives the scores of all items, `right_of(q)` the
// right ones, ascending.
RetrievalScores ScoreRetrieval(size_t queries,
                               const std::function<std::vector<ItemScore>(size_t query)>& items_of,
                               const std::function<std::vector<size_t>(size_t query)>& right_of);

}  // namespace scanline::cli
