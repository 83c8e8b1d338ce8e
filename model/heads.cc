#include "model/heads.h"

#include <algorithm>
#include <cmath>

#include "model/tensor_ops.h"
#include "model/tokens.h"

namespace scanline {
namespace {

constexpr float kPoolNormEps = 1e-5f;  // Of pool_norm, whatever the backbone's is.

// v / max(|v|, 1e-12), as torch.nn.functional.normalize; the length in double.
void Normalise(float* values, int dim) {
  double squares = 0;
  for (int i = 0; i < dim; ++i) squares += static_cast<double>(values[i]) * values[i];
  const double length = std::max(std::sqrt(squares), 1e-12);
  for (int i = 0; i < dim; ++i) values[i] = static_cast<float>(values[i] / length);
}

std::vector<float> MeanRow(const std::vector<float>& rows, int count, int dim) {
  if (count == 1) return rows;
  std::vector<float> mean(dim);
  for (int i = 0; i < dim; ++i) {
    double sum = 0;
    for (int row = 0; row < count; ++row) sum += rows[static_cast<size_t>(row) * dim + i];
    mean[i] = static_cast<float>(sum / count);
  }
  return mean;
}

}  // namespace

ClassHead::ClassHead(const BackboneConfig& backbone, const ClassifyConfig& config,
                     const Weights& weights)
    : backbone_(backbone),
      classes_(static_cast<int>(config.labels.size())),
      weight_(weights.Data("head.weight")),
      bias_(weights.Data("head.bias")),
      pooled_(AllocateFloats(backbone.pooled_dim())),
      logits_(AllocateFloats(config.labels.size())) {}

std::vector<float> ClassHead::Run(const float* normed) {
  PoolTokens(normed, backbone_, pooled_.get());
  RunGemm({.x = pooled_.get(),
           .rows = 1,
           .inner = backbone_.pooled_dim(),
           .x_stride = backbone_.pooled_dim(),
           .weight = weight_,
           .columns = classes_,
           .bias = bias_,
           .out = logits_.get()});
  return {logits_.get(), logits_.get() + classes_};
}

EmbedHead::EmbedHead(const BackboneConfig& backbone, const EmbedConfig& config,
                     const Weights& weights, const Kernels& kernels)
    : backbone_(backbone),
      config_(config),
      kernels_(kernels),
      steps_(config.keep_temporal ? PooledSteps(backbone) : 1),
      weight_(weights.Data("vision_proj.weight")),
      bias_(weights.Data("vision_proj.bias")),
      pooled_(AllocateFloats(static_cast<size_t>(steps_) * backbone.pooled_dim())),
      projected_(AllocateFloats(static_cast<size_t>(steps_) * config.dim)) {
  if (!config.pool_norm) return;
  norm_weight_ = weights.Data("pool_norm.weight");
  norm_bias_ = weights.Data("pool_norm.bias");
}

VisionEmbedding EmbedHead::Run(const float* normed, EmbedTrace* trace) {
  const int width = backbone_.pooled_dim();
  const int dim = config_.dim;
  if (config_.keep_temporal) {
    PoolSteps(normed, backbone_, pooled_.get());
  } else {
    PoolTokens(normed, backbone_, pooled_.get());
  }
  if (norm_weight_ != nullptr) {
    kernels_.add_norm({.rows = steps_,
                       .dim = width,
                       .x = pooled_.get(),
                       .weight = norm_weight_,
                       .bias = norm_bias_,
                       .eps = kPoolNormEps,
                       .layer_norm = true,
                       .residual_out = pooled_.get(),
                       .out = pooled_.get()});
  }
  RunGemm({.x = pooled_.get(),
           .rows = steps_,
           .inner = width,
           .x_stride = width,
           .weight = weight_,
           .columns = dim,
           .bias = bias_,
           .out = projected_.get()});
  const std::vector<float> raw(projected_.get(), projected_.get() + ptrdiff_t{steps_} * dim);
  std::vector<float> scored = raw;
  for (int step = 0; config_.normalize && step < steps_; ++step) {
    Normalise(scored.data() + ptrdiff_t{step} * dim, dim);
  }
  if (trace != nullptr) {
    *trace = {steps_, {pooled_.get(), pooled_.get() + ptrdiff_t{steps_} * width}, raw, scored};
  }
  return {MeanRow(scored, steps_, dim), MeanRow(raw, steps_, dim)};
}

}  // namespace scanline
