#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/mixer.h"
#include "model/weights.h"

namespace scanline {

// What passed between the layers, each [tokens][embed_dim], for tests and comparisons. Rows of
// layer i stand in the order that it scans in.
struct BackboneTrace {
  std::vector<float> tokens;                 // the sequence entering layer 0
  std::vector<std::vector<float>> hidden;    // what the mixer of layer i gave
  std::vector<std::vector<float>> residual;  // the residual stream entering the mixer of layer i
  std::vector<float> normed;                 // after the final norm, in OutputOrder
};

// Patches to tokens, one view at a time, in fp32. Keeps pointers into `weights` and all the memory
// that a pass needs, sized for the largest pictures seen: Run allocates none of its own and is not
// reentrant.
class Backbone {
 public:
  // Which tokens the final norm is taken of.
  enum class Rows { kCls, kAll };

  Backbone(const BackboneConfig& config, const Weights& weights, const Kernels& kernels);

  // For pictures of height x width from now on, multiples of patch: pos_embed is resized to their
  // grid (kept for the latest shapes). May throw std::bad_alloc.
  void Reshape(int height, int width);

  // With the height and width of the pictures.
  const BackboneConfig& config() const { return config_; }

  // [tokens - 1][PatchLength]: filled by the caller before Run, overwritten by it.
  float* patches() { return buffers_.mixer.xz; }

  // The tokens after the final norm, [tokens][embed_dim] in OutputOrder, of which row 0 is cls;
  // with kCls that row alone holds them. Good until the next call. May throw what tensor_ops.h
  // throws.
  const float* Run(Rows rows, BackboneTrace* trace = nullptr);

 private:
  struct Layer {
    const float* norm_weight;
    const float* norm_bias;  // LayerNorm only
    MixerWeights mixer;
  };
  struct Buffers {
    AlignedFloats memory;
    float* hidden = nullptr;    // [tokens][embed_dim]
    float* residual = nullptr;  // [tokens][embed_dim]
    float* spare = nullptr;     // [tokens][embed_dim]
    MixerBuffers mixer;
  };

  void MakeBuffers();
  const float* PositionsFor(int rows, int columns);
  void Embed();
  void Move(ScanOrder from, ScanOrder to);
  void RunLayer(const Layer& layer, bool first);
  void FinalNorm(bool cls_only);

  BackboneConfig config_;
  const Weights& weights_;
  const Kernels& kernels_;
  std::vector<Layer> layers_;
  Buffers buffers_;
  int buffer_tokens_ = 0;         // that the buffers hold
  const float* space_ = nullptr;  // pos_embed of the grid, [1 + cells][embed_dim]
  std::deque<std::pair<std::pair<int, int>, Tensor>> grids_;  // resized ones, the latest last
};

}  // namespace scanline
