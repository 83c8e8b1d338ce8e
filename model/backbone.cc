#include "model/backbone.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/patches.h"
#include "model/position.h"
#include "model/tensor_ops.h"
#include "model/tokens.h"

namespace scanline {
namespace {

const float* OptionalBias(const Weights& weights, const std::string& norm,
                          const BackboneConfig& config) {
  return config.norm == NormKind::kLayer ? weights.Data(norm + ".bias") : nullptr;
}

}  // namespace

void Backbone::MakeBuffers() {
  const BackboneConfig& config = config_;
  const auto tokens = static_cast<size_t>(config.tokens());
  const auto dim = static_cast<size_t>(config.embed_dim);
  const auto inner = static_cast<size_t>(config.d_inner());
  const auto patch = static_cast<size_t>(PatchLength(config));
  const size_t row = config.dt_rank + 2 * static_cast<size_t>(config.d_state);
  buffers_ = {};  // The old ones go first: both together may be too much.
  buffer_tokens_ = 0;
  Buffers buffers;
  const struct {
    float** at;
    size_t floats;
  } wanted[] = {
      {&buffers.hidden, tokens * dim},
      {&buffers.residual, tokens * dim},
      {&buffers.spare, tokens * dim},
      // The patches are needed before the first layer only, so they share the widest buffer.
      {&buffers.mixer.xz, std::max(tokens * 2 * inner, (tokens - 1) * patch)},
      {&buffers.mixer.conv, tokens * inner},
      {&buffers.mixer.x_dbl, tokens * row},
      {&buffers.mixer.delta, tokens * inner},
      {&buffers.mixer.y, tokens * inner},
      {&buffers.mixer.scratch, ScanScratchFloats(config.d_inner(), config.d_state)},
  };
  constexpr size_t kLine = 16;  // floats
  const auto rounded = [](size_t floats) { return (floats + kLine - 1) / kLine * kLine; };
  size_t total = 0;
  for (const auto& want : wanted) total += rounded(want.floats);
  buffers.memory = AllocateFloats(total);
  float* next = buffers.memory.get();
  for (const auto& want : wanted) {
    *want.at = next;
    next += rounded(want.floats);
  }
  buffers_ = std::move(buffers);
  buffer_tokens_ = config.tokens();
}

Backbone::Backbone(const BackboneConfig& config, const Weights& weights, const Kernels& kernels)
    : config_(config), weights_(weights), kernels_(kernels) {
  MakeBuffers();
  space_ = PositionsFor(config.rows(), config.columns());
  for (int i = 0; i < config.depth; ++i) {
    const std::string layer = absl::StrCat("layers.", i, ".");
    layers_.push_back({.norm_weight = weights.Data(layer + "norm.weight"),
                       .norm_bias = OptionalBias(weights, layer + "norm", config),
                       .mixer = MixerWeights::From(weights, layer + "mixer.", config)});
  }
}

const float* Backbone::PositionsFor(int rows, int columns) {
  constexpr size_t kMostGrids = 16;  // A service sees a few shapes again and again.
  const Tensor& trained = weights_.Get("pos_embed");
  const int side = GridOf(trained);
  if (rows == side && columns == side) return trained.data.get();
  const auto shape = std::make_pair(rows, columns);
  const auto known = std::find_if(grids_.begin(), grids_.end(),
                                  [&](const auto& grid) { return grid.first == shape; });
  if (known == grids_.end()) {
    if (grids_.size() == kMostGrids) grids_.pop_front();
    grids_.emplace_back(shape, ResizeGrid(trained, rows, columns));
  } else {
    std::rotate(known, known + 1, grids_.end());
  }
  return grids_.back().second.data.get();
}

void Backbone::Reshape(int height, int width) {
  const BackboneConfig shaped = ForPictures(config_, height, width);
  const bool same = shaped.rows() == config_.rows() && shaped.columns() == config_.columns();
  if (same && buffer_tokens_ > 0) return;  // 0: memory for it failed last time
  const float* space = PositionsFor(shaped.rows(), shaped.columns());
  config_ = shaped;
  space_ = space;
  if (config_.tokens() > buffer_tokens_) MakeBuffers();
}

// hidden = [cls + pos[0], patch + pos[1 + cell] + time[t], ...] in the first layer's order.
// Official code: models/videomamba.py, forward_features; the order of the additions is its.
void Backbone::Embed() {
  const int dim = config_.embed_dim;
  const int cells = config_.cells();
  const int64_t length = PatchLength(config_);
  float* embedded = buffers_.spare;
  RunGemm({.x = patches(),
           .rows = config_.tokens() - 1,
           .inner = length,
           .x_stride = length,
           .weight = weights_.Data("patch_embed.proj.weight"),
           .columns = dim,
           .bias = weights_.Data("patch_embed.proj.bias"),
           .out = embedded});
  const float* cls = weights_.Data("cls_token");
  const float* space = space_;
  const float* time = config_.time ? weights_.Data("temporal_pos_embedding") : nullptr;
  for (int i = 0; i < dim; ++i) buffers_.hidden[i] = cls[i] + space[i];
  const ScanOrder order = LayerOrder(config_.scan_order, 0);
  for (int t = 0; t < config_.steps(); ++t) {
    for (int cell = 0; cell < cells; ++cell) {
      const float* from = embedded + (static_cast<ptrdiff_t>(t) * cells + cell) * dim;
      const float* here = space + (1 + static_cast<ptrdiff_t>(cell)) * dim;
      float* to = buffers_.hidden + static_cast<ptrdiff_t>(TokenRow(order, t, cell, config_)) * dim;
      for (int i = 0; i < dim; ++i) to[i] = from[i] + here[i];
      if (time == nullptr) continue;
      const float* now = time + static_cast<ptrdiff_t>(t) * dim;
      for (int i = 0; i < dim; ++i) to[i] += now[i];
    }
  }
}

void Backbone::Move(ScanOrder from, ScanOrder to) {
  if (from == to) return;
  for (float** rows : {&buffers_.hidden, &buffers_.residual}) {
    Reorder(*rows, from, buffers_.spare, to, config_);
    std::swap(*rows, buffers_.spare);
  }
}

// residual += hidden; hidden = mixer(norm(residual)).
void Backbone::RunLayer(const Layer& layer, bool first) {
  kernels_.add_norm({.rows = config_.tokens(),
                     .dim = config_.embed_dim,
                     .x = buffers_.hidden,
                     .residual = first ? nullptr : buffers_.residual,
                     .weight = layer.norm_weight,
                     .bias = layer.norm_bias,
                     .eps = config_.norm_eps,
                     .layer_norm = config_.norm == NormKind::kLayer,
                     .residual_out = buffers_.residual,
                     .out = buffers_.spare});
  RunMixer(layer.mixer, config_, kernels_, buffers_.spare, config_.tokens(), buffers_.mixer,
           buffers_.hidden);
}

// spare = norm_f(residual + hidden). A norm looks at one token, so the cls row alone is the same.
void Backbone::FinalNorm(bool cls_only) {
  kernels_.add_norm({.rows = cls_only ? 1 : config_.tokens(),
                     .dim = config_.embed_dim,
                     .x = buffers_.hidden,
                     .residual = buffers_.residual,
                     .weight = weights_.Data("norm_f.weight"),
                     .bias = OptionalBias(weights_, "norm_f", config_),
                     .eps = config_.norm_eps,
                     .layer_norm = config_.norm == NormKind::kLayer,
                     .residual_out = buffers_.residual,
                     .out = buffers_.spare});
}

const float* Backbone::Run(Rows rows, BackboneTrace* trace) {
  const auto copy = [&](const float* from) {
    return std::vector<float>(from,
                              from + static_cast<size_t>(config_.tokens()) * config_.embed_dim);
  };
  Embed();
  if (trace != nullptr) *trace = {.tokens = copy(buffers_.hidden)};
  ScanOrder order = LayerOrder(config_.scan_order, 0);
  for (int i = 0; i < config_.depth; ++i) {
    const ScanOrder wanted = LayerOrder(config_.scan_order, i);
    Move(order, wanted);
    order = wanted;
    RunLayer(layers_[i], i == 0);
    if (trace != nullptr) {
      trace->residual.push_back(copy(buffers_.residual));
      trace->hidden.push_back(copy(buffers_.hidden));
    }
  }
  Move(order, OutputOrder(config_.scan_order));
  FinalNorm(rows == Rows::kCls && trace == nullptr);
  if (trace != nullptr) trace->normed = copy(buffers_.spare);
  return buffers_.spare;
}

}  // namespace scanline
