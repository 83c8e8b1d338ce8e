#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/weights.h"

namespace scanline {

// Parameters of one direction of a mixer; pointers into Weights, except `a`.
struct DirectionWeights {
  const float* conv_weight = nullptr;
  const float* conv_bias = nullptr;
  const float* x_proj = nullptr;   // rows: dt, then B, then C
  const float* dt_proj = nullptr;  // its bias is not applied by the product: the scan adds it
  const float* dt_bias = nullptr;
  const float* d = nullptr;
  std::vector<float> a;  // -exp(A_log), [d_inner][d_state]
};

struct MixerWeights {
  const float* in_proj = nullptr;  // rows: x, then z
  const float* out_proj = nullptr;
  DirectionWeights forward;
  DirectionWeights backward;

  // `prefix`: "layers.3.mixer.". With shared parameters the backward direction reads the forward
  // ones, but for A_b_log. `weights` must outlive the result.
  static MixerWeights From(const Weights& weights, const std::string& prefix,
                           const BackboneConfig& config);
};

// Memory of a mixer for up to a number of tokens; reused by every layer.
struct MixerBuffers {
  float* xz = nullptr;       // [tokens][2 d_inner]
  float* conv = nullptr;     // [tokens][d_inner]
  float* x_dbl = nullptr;    // [tokens][dt_rank + 2 d_state]
  float* delta = nullptr;    // [tokens][d_inner]
  float* y = nullptr;        // [tokens][d_inner]
  float* scratch = nullptr;  // ScanScratchFloats(d_inner, d_state)
};

// out = mixer(x), both [length][embed_dim]; `out` may be x. Both directions, as docs/models.md
// says.
void RunMixer(const MixerWeights& weights, const BackboneConfig& config, const Kernels& kernels,
              const float* x, int length, const MixerBuffers& buffers, float* out);

// Whether `kernels` takes the convolution and the scan of such a mixer; the scalar kernels do the
// rest.
bool TakesMixer(const Kernels& kernels, const BackboneConfig& config);

}  // namespace scanline
