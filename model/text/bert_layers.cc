#include "model/text/bert_layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/tensor_ops.h"

namespace scanline {
namespace {

constexpr int64_t kNormRows = 8;  // a piece of work for one thread

// The kernels' attention where they take it, else the reference.
void RunHeads(const Kernels& kernels, absl::Span<const Attention<float>> heads) {
  ParallelFor(static_cast<int64_t>(heads.size()), 1, [&](int64_t begin, int64_t end) {
    AlignedFloats scratch;
    size_t floats = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Attention<float>& head = heads[static_cast<size_t>(i)];
      if (!kernels.takes_attention(head)) {
        AttentionReference(head);
        continue;
      }
      const size_t wanted = AttentionScratchFloats(head.keys, head.dim);
      if (wanted > floats) scratch = AllocateFloats(floats = wanted);
      kernels.attention(head, scratch.get());
    }
  });
}

}  // namespace

BertLayers::BertLayers(const TextTowerConfig& config, const Weights& weights,
                       const Kernels& kernels, int first, int count, bool cross_attention)
    : config_(config), kernels_(kernels) {
  for (int i = first; i < first + count; ++i) {
    layers_.push_back(
        MakeLayer(weights, absl::StrCat("text_encoder.encoder.layer.", i, "."), cross_attention));
  }
}

BertLayers::Layer BertLayers::MakeLayer(const Weights& weights, const std::string& name,
                                        bool cross_attention) const {
  const auto norm = [&](const std::string& part) {
    return Norm{weights.Data(name + part + ".weight"), weights.Data(name + part + ".bias")};
  };
  const std::string self = name + "attention.self.";
  const std::string cross = name + "crossattention.self.";
  Layer layer;
  layer.qkv = Linear(weights, {self + "query", self + "key", self + "value"});
  layer.attention_out = Linear(weights, {name + "attention.output.dense"});
  layer.attention_norm = norm("attention.output.LayerNorm");
  if (cross_attention) {
    layer.video_query = Linear(weights, {cross + "query"});
    layer.video_key_value = Linear(weights, {cross + "key", cross + "value"});
    layer.video_out = Linear(weights, {name + "crossattention.output.dense"});
    layer.video_norm = norm("crossattention.output.LayerNorm");
  }
  layer.up = Linear(weights, {name + "intermediate.dense"});
  layer.down = Linear(weights, {name + "output.dense"});
  layer.norm = norm("output.LayerNorm");
  return layer;
}

float* BertLayers::Rows(int rows) {
  rows_ = rows;
  if (rows > capacity_) {
    const auto count = static_cast<size_t>(rows);
    const auto dim = static_cast<size_t>(config_.dim);
    hidden_ = AllocateFloats(count * dim);
    spare_ = AllocateFloats(count * dim);
    mixed_ = AllocateFloats(count * dim);
    wide_ = AllocateFloats(count * std::max(3 * config_.dim, config_.intermediate));
    capacity_ = rows;
  }
  return hidden_.get();
}

void BertLayers::SetVideo(const float* tokens, int count, int width) {
  for (Layer& layer : layers_) {
    const auto floats = static_cast<size_t>(count) * layer.video_key_value.columns();
    if (count > video_count_) layer.video = AllocateFloats(floats);
    layer.video_key_value.Run(
        kernels_, {.x = tokens, .x_stride = width, .count = count, .out = layer.video.get()});
  }
  video_count_ = count;
}

float* BertLayers::Run(absl::Span<const int> starts) {
  for (const Layer& layer : layers_) RunLayer(layer, starts);
  return hidden_.get();
}

void BertLayers::RunLayer(const Layer& layer, absl::Span<const int> starts) {
  const int dim = config_.dim;
  const auto linear = [&](const Linear& map, const AlignedFloats& from, ptrdiff_t width,
                          const AlignedFloats& to, bool gelu = false) {
    map.Run(kernels_,
            {.x = from.get(), .x_stride = width, .count = rows_, .out = to.get(), .gelu = gelu});
  };
  linear(layer.qkv, hidden_, dim, wide_);
  SelfAttention(starts);
  linear(layer.attention_out, mixed_, dim, spare_);
  AddNormTo(layer.attention_norm);
  if (layer.video != nullptr) {
    linear(layer.video_query, hidden_, dim, wide_);
    CrossAttention(layer);
    linear(layer.video_out, mixed_, dim, spare_);
    AddNormTo(layer.video_norm);
  }
  linear(layer.up, hidden_, dim, wide_, /*gelu=*/true);
  linear(layer.down, wide_, config_.intermediate, spare_);
  AddNormTo(layer.norm);
}

// mixed = self-attention of `wide`, [rows][queries | keys | values].
void BertLayers::SelfAttention(absl::Span<const int> starts) {
  const int dim = config_.dim;
  const int width = dim / config_.heads;
  const ptrdiff_t stride = 3 * static_cast<ptrdiff_t>(dim);
  std::vector<Attention<float>> heads;
  for (size_t text = 0; text + 1 < starts.size(); ++text) {
    const ptrdiff_t row = starts[text];
    const int tokens = starts[text + 1] - starts[text];
    for (int head = 0; head < config_.heads; ++head) {
      const float* q = wide_.get() + row * stride + static_cast<ptrdiff_t>(head) * width;
      heads.push_back({.queries = tokens,
                       .keys = tokens,
                       .dim = width,
                       .q = q,
                       .q_stride = stride,
                       .k = q + dim,
                       .k_stride = stride,
                       .v = q + 2 * static_cast<ptrdiff_t>(dim),
                       .v_stride = stride,
                       .scale = 1 / std::sqrt(static_cast<float>(width)),
                       .out = mixed_.get() + row * dim + static_cast<ptrdiff_t>(head) * width,
                       .out_stride = dim});
    }
  }
  RunHeads(kernels_, heads);
}

// mixed = attention of the queries in `wide` to the video. All rows read the same keys, so they go
// together, whichever text they belong to.
void BertLayers::CrossAttention(const Layer& layer) {
  const int dim = config_.dim;
  const int width = dim / config_.heads;
  std::vector<Attention<float>> heads;
  for (int head = 0; head < config_.heads; ++head) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(head) * width;
    heads.push_back({.queries = rows_,
                     .keys = video_count_,
                     .dim = width,
                     .q = wide_.get() + at,
                     .q_stride = dim,
                     .k = layer.video.get() + at,
                     .k_stride = 2 * static_cast<ptrdiff_t>(dim),
                     .v = layer.video.get() + dim + at,
                     .v_stride = 2 * static_cast<ptrdiff_t>(dim),
                     .scale = 1 / std::sqrt(static_cast<float>(width)),
                     .out = mixed_.get() + at,
                     .out_stride = dim});
  }
  RunHeads(kernels_, heads);
}

// hidden = norm(hidden + spare).
void BertLayers::AddNormTo(const Norm& norm) {
  ParallelFor(rows_, kNormRows, [&](int64_t begin, int64_t end) {
    const ptrdiff_t at = begin * config_.dim;
    kernels_.add_norm({.rows = static_cast<int>(end - begin),
                       .dim = config_.dim,
                       .x = spare_.get() + at,
                       .residual = hidden_.get() + at,
                       .weight = norm.weight,
                       .bias = norm.bias,
                       .eps = kEps,
                       .layer_norm = true,
                       .residual_out = hidden_.get() + at,
                       .out = spare_.get() + at});
  });
  std::swap(hidden_, spare_);
}

}  // namespace scanline
