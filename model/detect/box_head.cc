#include "model/detect/box_head.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/tensor_ops.h"
#include "model/tokens.h"

namespace scanline {
namespace {

// One side of a box, grown by `share` and kept within [0, size].
void Enlarge(double share, bool inclusive, int size, double* low, double* high) {
  const double pixel = inclusive ? 1 : 0;
  const double pad = (*high - *low + pixel) * share / 2;
  *low = std::clamp(*low - pad, 0.0, size - pixel);
  *high = std::clamp(*high + pad, 0.0, size - pixel);
}

// sums[i] += factor * the tokens of `cell` over steps [begin, end).
void AddSteps(const float* normed, const BackboneConfig& backbone, int cell, int begin, int end,
              double factor, std::vector<double>& sums) {
  const ScanOrder order = OutputOrder(backbone.scan_order);
  for (int step = begin; step < end; ++step) {
    const float* row =
        normed + static_cast<ptrdiff_t>(TokenRow(order, step, cell, backbone)) * backbone.embed_dim;
    for (int i = 0; i < backbone.embed_dim; ++i) sums[i] += factor * row[i];
  }
}

float* Store(const std::vector<double>& sums, float* out) {
  for (double sum : sums) *out++ = static_cast<float>(sum);
  return out;
}

}  // namespace

Box EnlargeBox(const Box& box, const DetectConfig& config, PictureArea area) {
  Box large = box;
  Enlarge(config.enlarge[0], config.inclusive, area.width, &large.x_min, &large.x_max);
  Enlarge(config.enlarge[1], config.inclusive, area.height, &large.y_min, &large.y_max);
  return large;
}

void FeaturesOverTime(const float* normed, const BackboneConfig& backbone,
                      DetectConfig::Feature feature, float* out) {
  const int steps = backbone.steps();
  const int half = steps / 2;
  std::vector<double> sums(backbone.embed_dim);
  for (int cell = 0; cell < backbone.cells(); ++cell) {
    std::fill(sums.begin(), sums.end(), 0.0);
    AddSteps(normed, backbone, cell, 0, steps, 1.0 / steps, sums);
    out = Store(sums, out);
    if (feature == DetectConfig::Feature::kAvg) continue;
    std::fill(sums.begin(), sums.end(), 0.0);
    AddSteps(normed, backbone, cell, 0, half, -1.0 / half, sums);
    AddSteps(normed, backbone, cell, steps - half, steps, 1.0 / half, sums);
    out = Store(sums, out);
  }
}

std::vector<float> ActionScores(const std::vector<float>& logits, ScoreKind kind,
                                float person_score) {
  std::vector<double> scores;
  scores.reserve(logits.size());
  double total = 1;
  if (kind == ScoreKind::kSoftmax) {
    const double top = logits.empty() ? 0 : *std::max_element(logits.begin(), logits.end());
    total = 0;
    for (float logit : logits) total += scores.emplace_back(std::exp(logit - top));
  } else {
    for (float logit : logits) scores.push_back(1 / (1 + std::exp(-static_cast<double>(logit))));
  }
  std::vector<float> result;
  result.reserve(scores.size());
  for (double score : scores) result.push_back(static_cast<float>(score / total * person_score));
  return result;
}

BoxHead::BoxHead(const DetectConfig& config, int embed_dim, const Weights& weights)
    : config_(config),
      width_(config.feature == DetectConfig::Feature::kAvgDelta ? 2 * embed_dim : embed_dim),
      classes_(static_cast<int>(config.labels.size())),
      weight_(weights.Data("box_head.weight")),
      bias_(weights.Data("box_head.bias")),
      roi_(AllocateFloats(static_cast<size_t>(config.roi_size) * config.roi_size * width_)),
      pooled_(AllocateFloats(width_)),
      logits_(AllocateFloats(classes_)) {}

void BoxHead::See(const float* normed, const BackboneConfig& backbone) {
  const size_t size = static_cast<size_t>(backbone.cells()) * width_;
  if (size > features_size_) {
    features_ = AllocateFloats(size);
    features_size_ = size;
  }
  FeaturesOverTime(normed, backbone, config_.feature, features_.get());
  patch_ = backbone.patch;
  map_ = {features_.get(), backbone.rows(), backbone.columns(), width_};
}

std::vector<float> BoxHead::Logits(const Box& box, PictureArea area) {
  const Box large = EnlargeBox(box, config_, area);
  const auto cells = [&](double pixels) {
    return static_cast<float>(pixels) / static_cast<float>(patch_);
  };
  RoiAlign(map_, {cells(large.x_min), cells(large.y_min), cells(large.x_max), cells(large.y_max)},
           {config_.roi_size, config_.sampling_ratio, config_.aligned}, roi_.get());
  std::copy(roi_.get(), roi_.get() + width_, pooled_.get());
  for (int cell = 1; cell < config_.roi_size * config_.roi_size; ++cell) {
    const float* values = roi_.get() + static_cast<ptrdiff_t>(cell) * width_;
    for (int i = 0; i < width_; ++i) pooled_[i] = std::max(pooled_[i], values[i]);
  }
  RunGemm({.x = pooled_.get(),
           .rows = 1,
           .inner = width_,
           .x_stride = width_,
           .weight = weight_,
           .columns = classes_,
           .bias = bias_,
           .out = logits_.get()});
  return {logits_.get(), logits_.get() + classes_};
}

}  // namespace scanline
