#include "client/index/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "client/index/dot.h"

namespace scanline {
namespace {

constexpr int64_t kRowsAtOnce = 4096;
constexpr int64_t kMoreRows = 4;  // Rows looked at for each moment that is wanted, at first.

using Spans = std::vector<std::pair<double, double>>;

// Whether `item` shows something that none of `taken`, of the same file, does.
bool IsNew(const Item& item, const Spans& taken, Distinct distinct) {
  if (distinct == Distinct::kFiles) return taken.empty();
  return std::none_of(taken.begin(), taken.end(), [&](const auto& span) {
    return item.start_seconds < span.second && span.first < item.end_seconds;
  });
}

}  // namespace

std::vector<float> ScoreRows(absl::Span<const float> rows, absl::Span<const float> query,
                             int threads) {
  const auto dim = static_cast<int64_t>(query.size());
  SCANLINE_CHECK(dim > 0 && rows.size() % query.size() == 0);
  const int64_t count = static_cast<int64_t>(rows.size()) / dim;
  std::vector<float> scores(static_cast<size_t>(count));
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t at; (at = next.fetch_add(kRowsAtOnce)) < count;) {
      DotRows(rows.data() + at * dim, std::min(kRowsAtOnce, count - at), static_cast<int>(dim),
              query.data(), scores.data() + at);
    }
  };
  const int cores = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  const int64_t useful = std::min<int64_t>(cores, (count + kRowsAtOnce - 1) / kRowsAtOnce);
  std::vector<std::thread> others;
  for (int64_t i = 1; i < useful; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  return scores;
}

std::vector<int64_t> TopRows(absl::Span<const float> scores, int64_t k) {
  const auto value = [&](int64_t row) {
    const float score = scores[static_cast<size_t>(row)];
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  };
  const auto better = [&](int64_t a, int64_t b) {
    return value(a) > value(b) || (value(a) == value(b) && a < b);
  };
  // A heap of the best so far, the worst of them in front.
  std::vector<int64_t> best;
  const auto count = static_cast<int64_t>(scores.size());
  for (int64_t row = 0; row < count && k > 0; ++row) {
    if (static_cast<int64_t>(best.size()) == k) {
      if (!better(row, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), better);
      best.pop_back();
    }
    best.push_back(row);
    std::push_heap(best.begin(), best.end(), better);
  }
  std::sort_heap(best.begin(), best.end(), better);
  return best;
}

absl::StatusOr<std::vector<Moment>> BestMoments(const IndexReader& index,
                                                absl::Span<const float> scores, int64_t k,
                                                Distinct distinct) {
  const auto count = static_cast<int64_t>(scores.size());
  std::vector<Moment> moments;
  std::map<std::string, Spans> taken;  // by path
  int64_t seen = 0;
  // Most rows are never looked up: what an item says is asked for the best ones alone.
  for (int64_t look = std::min(count, k * kMoreRows); seen < count;
       look = std::min(count, look * kMoreRows)) {
    const std::vector<int64_t> rows = TopRows(scores, look);
    for (; seen < static_cast<int64_t>(rows.size()); ++seen) {
      const int64_t row = rows[static_cast<size_t>(seen)];
      SCANLINE_ASSIGN_OR_RETURN(Item item, index.ItemAt(row));
      Spans& spans = taken[item.file.path];
      if (!IsNew(item, spans, distinct)) continue;
      spans.emplace_back(item.start_seconds, item.end_seconds);
      moments.push_back({scores[static_cast<size_t>(row)], row, std::move(item)});
      if (static_cast<int64_t>(moments.size()) == k) return moments;
    }
  }
  return moments;
}

}  // namespace scanline
