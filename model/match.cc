#include "model/match.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_replace.h"
#include "base/check.h"

namespace scanline {
namespace {

using Vectors = std::vector<std::vector<float>>;

// Mean of the vectors of the views of window `window`; -1: of all views.
std::vector<float> MeanOver(const Clip& clip, const Vectors& views, int window) {
  std::vector<double> sum;
  int count = 0;
  for (size_t view = 0; view < views.size(); ++view) {
    if (window >= 0 && clip.views.at(view).window != window) continue;
    sum.resize(views[view].size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += views[view][i];
    ++count;
  }
  std::vector<float> mean;
  mean.reserve(sum.size());
  for (double value : sum) mean.push_back(static_cast<float>(value / count));
  return mean;
}

double Dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// The vector of each text, made of those of its prompts.
Vectors TextVectors(const std::vector<TextEmbedding>& texts, int prompts) {
  Vectors vectors;
  for (size_t first = 0; first < texts.size(); first += prompts) {
    std::vector<float> vector = texts[first].values;
    if (prompts > 1) {
      for (size_t k = first + 1; k < first + prompts; ++k) {
        for (size_t i = 0; i < vector.size(); ++i) vector[i] += texts[k].values[i];
      }
      const double length = std::sqrt(Dot(vector, vector));
      for (float& value : vector) value = static_cast<float>(value / std::max(length, 1e-12));
    }
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

std::vector<TextMatch> Compare(const std::vector<float>& embedding, const Vectors& texts,
                               const std::vector<float>& match_logits, float temperature) {
  std::vector<TextMatch> matches(texts.size());
  float best = -HUGE_VALF;
  for (size_t i = 0; i < texts.size(); ++i) {
    matches[i].similarity = static_cast<float>(Dot(embedding, texts[i]));
    if (!match_logits.empty()) matches[i].match_logit = match_logits[i];
    best = std::max(best, matches[i].similarity);
  }
  std::vector<double> shares;
  double total = 0;
  for (const TextMatch& match : matches) {
    total +=
        shares.emplace_back(std::exp((static_cast<double>(match.similarity) - best) / temperature));
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    matches[i].score = static_cast<float>(shares[i] / total);
  }
  return matches;
}

}  // namespace

ClipEmbeddings MeanEmbeddings(const Clip& clip, const Vectors& views) {
  ClipEmbeddings result{.clip = MeanOver(clip, views, -1)};
  for (size_t window = 0; window < clip.windows.size(); ++window) {
    result.windows.push_back(MeanOver(clip, views, static_cast<int>(window)));
  }
  return result;
}

std::vector<size_t> BestTexts(const Clip& clip, const Prediction& prediction, size_t count) {
  const std::vector<float> embedding = MeanOver(clip, prediction.embeddings, -1);
  std::vector<double> similarities;
  std::vector<size_t> best;
  for (const TextEmbedding& text : prediction.texts) {
    best.push_back(similarities.size());
    similarities.push_back(Dot(embedding, text.values));
  }
  std::stable_sort(best.begin(), best.end(),
                   [&](size_t a, size_t b) { return similarities[a] > similarities[b]; });
  best.resize(std::min(count, best.size()));
  std::sort(best.begin(), best.end());
  return best;
}

std::vector<std::string> WithPrompts(const std::vector<std::string>& labels,
                                     const std::vector<std::string>& prompts) {
  std::vector<std::string> texts;
  texts.reserve(labels.size() * prompts.size());
  for (const std::string& label : labels) {
    for (const std::string& prompt : prompts) {
      texts.push_back(absl::StrReplaceAll(prompt, {{"{}", label}}));
    }
  }
  return texts;
}

TextMatches Match(const Clip& clip, const Prediction& prediction, float temperature,
                  int prompts_per_text) {
  SCANLINE_CHECK(prompts_per_text >= 1 && prediction.texts.size() % prompts_per_text == 0);
  SCANLINE_CHECK(temperature > 0);
  const Vectors texts = TextVectors(prediction.texts, prompts_per_text);
  const ClipEmbeddings embeddings = MeanEmbeddings(clip, prediction.embeddings);
  const ClipEmbeddings logits = MeanEmbeddings(clip, prediction.match_logits);
  TextMatches result{.clip = Compare(embeddings.clip, texts, logits.clip, temperature)};
  for (size_t window = 0; window < clip.windows.size(); ++window) {
    result.windows.push_back(
        Compare(embeddings.windows[window], texts, logits.windows[window], temperature));
  }
  return result;
}

}  // namespace scanline
