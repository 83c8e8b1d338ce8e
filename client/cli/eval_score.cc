#include "client/cli/eval_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace scanline::cli {

Share ShareOf(int right, int of) {
  constexpr double kZ = 1.959963984540054;  // The normal distribution's 97.5 % quantile.
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (of == 0) return {right, of, kNone, kNone, kNone};
  const double n = of;
  const double p = right / n;
  const double middle = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  // At 0 and 1 the interval ends there exactly; rounding would miss it.
  return {right, of, p, right == 0 ? 0 : middle - half, right == of ? 1 : middle + half};
}

Scores ScoreClips(absl::Span<const JudgedClip> clips) {
  std::map<int, ClassScores> classes;
  std::map<std::pair<int, int>, std::vector<std::string>> wrong;
  int top1 = 0, top5 = 0;
  for (const JudgedClip& clip : clips) {
    const auto end = clip.ranked.begin() + std::min<long>(kTopClasses, std::ssize(clip.ranked));
    const bool first = !clip.ranked.empty() && clip.ranked[0] == clip.truth;
    const bool among = std::find(clip.ranked.begin(), end, clip.truth) != end;
    ClassScores& row = classes[clip.truth];
    row.class_index = clip.truth;
    ++row.clips;
    row.top1 += first ? 1 : 0;
    row.top5 += among ? 1 : 0;
    top1 += first ? 1 : 0;
    top5 += among ? 1 : 0;
    if (!first && !clip.ranked.empty()) wrong[{clip.truth, clip.ranked[0]}].push_back(clip.path);
  }
  const int of = static_cast<int>(clips.size());
  Scores scores{ShareOf(top1, of), ShareOf(top5, of), 0, {}, {}};
  for (const auto& [index, row] : classes) {
    scores.mean_class += static_cast<double>(row.top1) / row.clips;
    scores.classes.push_back(row);
  }
  scores.mean_class /= static_cast<double>(classes.size());  // NaN where there are none.
  for (auto& [pair, paths] : wrong) {
    scores.confusions.push_back({pair.first, pair.second, std::move(paths)});
  }
  std::stable_sort(
      scores.confusions.begin(), scores.confusions.end(),
      [](const Confusion& a, const Confusion& b) { return a.clips.size() > b.clips.size(); });
  return scores;
}

}  // namespace scanline::cli
