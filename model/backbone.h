#pragma once

#include <string>
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
// that a pass needs: Run allocates none of its own and is not reentrant.
class Backbone {
 public:
  // Which tokens the final norm is taken of.
  enum class Rows { kCls, kAll };

  Backbone(const BackboneConfig& config, const Weights& weights, const Kernels& kernels);

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

  static Buffers MakeBuffers(const BackboneConfig& config);
  void Embed();
  void Move(ScanOrder from, ScanOrder to);
  void RunLayer(const Layer& layer, bool first);
  void FinalNorm(bool cls_only);

  BackboneConfig config_;
  const Weights& weights_;
  const Kernels& kernels_;
  std::vector<Layer> layers_;
  Buffers buffers_;
};

}  // namespace scanline
