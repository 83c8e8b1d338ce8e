#include "model/classify.h"

#include <algorithm>
#include <cmath>

namespace scanline {
namespace {

struct Sums {
  std::vector<double> scores;
  std::vector<double> logits;
  int views = 0;
};

std::vector<double> Scores(const std::vector<float>& logits, ScoreKind kind) {
  std::vector<double> scores;
  scores.reserve(logits.size());
  if (kind == ScoreKind::kSigmoid) {
    for (float logit : logits) scores.push_back(1 / (1 + std::exp(-static_cast<double>(logit))));
    return scores;
  }
  const double top = logits.empty() ? 0 : *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (float logit : logits) total += scores.emplace_back(std::exp(logit - top));
  for (double& score : scores) score /= total;
  return scores;
}

void AddView(const std::vector<float>& logits, ScoreKind kind, Sums& sums) {
  sums.scores.resize(logits.size());
  sums.logits.resize(logits.size());
  const std::vector<double> scores = Scores(logits, kind);
  for (size_t row = 0; row < logits.size(); ++row) {
    sums.scores[row] += scores[row];
    sums.logits[row] += logits[row];
  }
  ++sums.views;
}

std::vector<ClassScore> BestFirst(const Sums& sums) {
  std::vector<ClassScore> classes;
  classes.reserve(sums.scores.size());
  for (size_t row = 0; row < sums.scores.size(); ++row) {
    classes.push_back({.row = static_cast<int>(row),
                       .score = static_cast<float>(sums.scores[row] / sums.views),
                       .logit = static_cast<float>(sums.logits[row] / sums.views)});
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [](const ClassScore& a, const ClassScore& b) { return a.score > b.score; });
  return classes;
}

}  // namespace

Classification Classify(const Clip& clip, const Prediction& prediction, ScoreKind score) {
  Sums all;
  std::vector<Sums> windows(clip.windows.size());
  for (size_t view = 0; view < prediction.logits.size(); ++view) {
    AddView(prediction.logits[view], score, all);
    AddView(prediction.logits[view], score, windows.at(clip.views.at(view).window));
  }
  Classification result{.classes = BestFirst(all)};
  for (const Sums& window : windows) result.windows.push_back(BestFirst(window));
  return result;
}

}  // namespace scanline
