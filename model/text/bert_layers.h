#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/text/linear.h"
#include "model/weights.h"

namespace scanline {

// Some consecutive layers of a BERT encoder (post-norm, GELU by erf, LayerNorm with eps 1e-12) over
// several texts at once. Each text is run at its own length, so nothing is masked and its rows have
// the same bits in any company. Official code: models/backbones/bert/xbert.py.
class BertLayers {
 public:
  static constexpr float kEps = 1e-12f;  // of every LayerNorm

  // Layers [first, first + count). Where `cross_attention`, they read a video between
  // self-attention and feed-forward. Keeps pointers into `weights`.
  BertLayers(const TextTowerConfig& config, const Weights& weights, const Kernels& kernels,
             int first, int count, bool cross_attention);

  // The rows of the texts, one below the other, for the caller to fill: [rows][dim]. Good until
  // the next call.
  float* Rows(int rows);

  // What the layers read of a video, kept until the next call: [count][width] tokens.
  void SetVideo(const float* tokens, int count, int width);

  // Text i is rows [starts[i], starts[i + 1]); the layers' result, [rows][dim], is good until the
  // next call of any function.
  float* Run(absl::Span<const int> starts);

 private:
  struct Norm {
    const float* weight;
    const float* bias;
  };
  struct Layer {
    Linear qkv;
    Linear attention_out;
    Norm attention_norm;
    Linear video_query;  // cross-attention only, as the next three
    Linear video_key_value;
    Linear video_out;
    Norm video_norm;
    Linear up;
    Linear down;
    Norm norm;
    AlignedFloats video;  // [video tokens][2 * dim]: keys, values
  };
  Layer MakeLayer(const Weights& weights, const std::string& name, bool cross_attention) const;
  void SelfAttention(absl::Span<const int> starts);
  void CrossAttention(const Layer& layer);
  void AddNormTo(const Norm& norm);
  void RunLayer(const Layer& layer, absl::Span<const int> starts);

  TextTowerConfig config_;
  const Kernels& kernels_;
  std::vector<Layer> layers_;
  int video_count_ = 0;
  int rows_ = 0;
  int capacity_ = 0;
  AlignedFloats hidden_;  // [capacity][dim]
  AlignedFloats spare_;   // [capacity][dim]
  AlignedFloats mixed_;   // [capacity][dim]
  AlignedFloats wide_;    // [capacity][max(3 * dim, intermediate)]
};

}  // namespace scanline
