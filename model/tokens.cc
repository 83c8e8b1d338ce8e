#include "model/tokens.h"

#include <algorithm>
#include <vector>

namespace scanline {
namespace {

// Mean of the patch tokens of steps [begin, end), in double: thousands of terms.
std::vector<double> MeanOver(const float* normed, int begin, int end,
                             const BackboneConfig& config) {
  const int cells = config.cells();
  const ScanOrder order = OutputOrder(config.scan_order);
  std::vector<double> mean(config.embed_dim, 0.0);
  for (int t = begin; t < end; ++t) {
    for (int cell = 0; cell < cells; ++cell) {
      const float* row =
          normed + static_cast<ptrdiff_t>(TokenRow(order, t, cell, config)) * config.embed_dim;
      for (int i = 0; i < config.embed_dim; ++i) mean[i] += row[i];
    }
  }
  for (double& value : mean) value /= static_cast<double>(end - begin) * cells;
  return mean;
}

// avg or cls+avg over steps [begin, end).
void PoolOver(const float* normed, int begin, int end, const BackboneConfig& config, float* out) {
  const std::vector<double> mean = MeanOver(normed, begin, end, config);
  const bool with_cls = config.pool != PoolKind::kAvg;
  for (int i = 0; i < config.embed_dim; ++i) {
    out[i] = static_cast<float>(mean[i]) + (with_cls ? normed[i] : 0.0f);
  }
}

void MaxOverPatches(const float* normed, const BackboneConfig& config, float* out) {
  const int dim = config.embed_dim;
  std::copy(normed + dim, normed + 2 * dim, out);
  for (int row = 2; row < config.tokens(); ++row) {
    const float* values = normed + static_cast<ptrdiff_t>(row) * dim;
    for (int i = 0; i < dim; ++i) out[i] = std::max(out[i], values[i]);
  }
}

}  // namespace

int TokenRow(ScanOrder order, int step, int cell, const BackboneConfig& config) {
  return 1 + (order == ScanOrder::kTemporalFirst ? cell * config.steps() + step
                                                 : step * config.cells() + cell);
}

ScanOrder LayerOrder(ScanOrder order, int layer) {
  if (order != ScanOrder::kAlternating) return order;
  return layer % 2 == 0 ? ScanOrder::kSpatialFirst : ScanOrder::kTemporalFirst;
}

ScanOrder OutputOrder(ScanOrder order) {
  return order == ScanOrder::kAlternating ? ScanOrder::kSpatialFirst : order;
}

void Reorder(const float* from, ScanOrder from_order, float* to, ScanOrder to_order,
             const BackboneConfig& config) {
  const int dim = config.embed_dim;
  std::copy(from, from + dim, to);
  for (int t = 0; t < config.steps(); ++t) {
    for (int cell = 0; cell < config.cells(); ++cell) {
      const float* row = from + static_cast<ptrdiff_t>(TokenRow(from_order, t, cell, config)) * dim;
      std::copy(row, row + dim,
                to + static_cast<ptrdiff_t>(TokenRow(to_order, t, cell, config)) * dim);
    }
  }
}

void PoolTokens(const float* normed, const BackboneConfig& config, float* pooled) {
  const int dim = config.embed_dim;
  if (config.pool == PoolKind::kCls) {
    std::copy(normed, normed + dim, pooled);
    return;
  }
  PoolOver(normed, 0, config.steps(), config, pooled);
  if (config.pool != PoolKind::kClsPlusAvgDeltaMax) return;
  const int half = config.steps() / 2;
  const std::vector<double> first = MeanOver(normed, 0, half, config);
  const std::vector<double> second =
      MeanOver(normed, config.steps() - half, config.steps(), config);
  for (int i = 0; i < dim; ++i) pooled[dim + i] = static_cast<float>(second[i] - first[i]);
  MaxOverPatches(normed, config, pooled + 2 * dim);
}

int PooledSteps(const BackboneConfig& config) {
  return config.pool == PoolKind::kCls ? 1 : config.steps();
}

void PoolSteps(const float* normed, const BackboneConfig& config, float* pooled) {
  if (config.pool == PoolKind::kCls) return PoolTokens(normed, config, pooled);
  for (int step = 0; step < config.steps(); ++step) {
    PoolOver(normed, step, step + 1, config,
             pooled + static_cast<ptrdiff_t>(step) * config.embed_dim);
  }
}

}  // namespace scanline
