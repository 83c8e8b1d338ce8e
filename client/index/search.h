#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/index/index_reader.h"
#include "client/index/item.h"

namespace scanline {

// The dot product of each row of `rows` [n, query.size()] with `query`, on up to `threads` threads
// (0: one a core). The scores do not depend on their number.
std::vector<float> ScoreRows(absl::Span<const float> rows, absl::Span<const float> query,
                             int threads = 0);

// The rows with the `k` highest scores, best first; of equal scores the earlier row. NaN is lower
// than any number.
std::vector<int64_t> TopRows(absl::Span<const float> scores, int64_t k);

struct Moment {
  float score = 0;  // the dot product
  int64_t row = 0;
  Item item;
};

enum class Distinct {
  kMoments,  // no two of one file that overlap in time: the better one is there
  kFiles,    // the best of each file
};

// The `k` best moments of the index for a score of each row, best first.
absl::StatusOr<std::vector<Moment>> BestMoments(const IndexReader& index,
                                                absl::Span<const float> scores, int64_t k,
                                                Distinct distinct);

}  // namespace scanline
