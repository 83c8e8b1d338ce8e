#include "client/cli/did_you_mean.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace scanline::cli {

// The "optimal string alignment" form of the Damerau-Levenshtein distance.
int EditDistance(absl::string_view a, absl::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> d((a.size() + 1) * width);
  for (size_t j = 0; j < width; ++j) d[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    d[i * width] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int replace = d[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      int best = std::min({d[(i - 1) * width + j] + 1, d[i * width + j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, d[(i - 2) * width + j - 2] + 1);
      }
      d[i * width + j] = best;
    }
  }
  return d.back();
}

std::string Nearest(absl::string_view typed, const std::vector<std::string>& candidates) {
  std::string nearest;
  int least = std::max<int>(1, static_cast<int>(typed.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(typed, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty() || typed.size() < 3) return nearest;
  for (const std::string& candidate : candidates) {
    if (absl::StartsWith(candidate, typed)) return candidate;
  }
  return "";
}

std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(typed, candidates);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace scanline::cli
