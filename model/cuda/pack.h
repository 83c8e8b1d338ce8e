#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "model/config.h"
#include "model/cuda/launch.h"
#include "model/patches.h"
#include "model/weights.h"

// What lies where in the memory of a device: the weights of a backbone in the layouts of launch.h,
// and the buffers of a pass. Plain numbers, free of CUDA.

namespace scanline::cuda {

// FIELD_INVALID with the reason when the kernels of launch.h do not take such a backbone.
absl::Status CheckBackbone(const BackboneConfig& config);

// Offsets in bytes, multiples of kAlignment.
inline constexpr size_t kAlignment = 256;
inline constexpr size_t kNone = ~size_t{0};

struct DirectionAt {
  size_t conv_weight = kNone;
  size_t conv_bias = kNone;
  size_t x_proj = kNone;
  size_t dt_proj = kNone;
  size_t dt_bias = kNone;
  size_t a = kNone;
  size_t d = kNone;
};

struct LayerAt {
  size_t norm_weight = kNone;
  size_t norm_bias = kNone;  // LayerNorm only
  size_t in_proj = kNone;
  size_t out_proj = kNone;
  DirectionAt forward;
  DirectionAt backward;  // with shared parameters: those of forward, but for `a`
};

// The patch embedding: weight [embed_dim][PatchLength], bias [embed_dim].
struct PatchAt {
  size_t weight = kNone;
  size_t bias = kNone;
};

struct PackedWeights {
  std::vector<uint8_t> bytes;
  std::vector<LayerAt> layers;
  PatchAt pictures;  // for bytes less kPixelCentre: the normalisation is folded in
  PatchAt values;    // for values that are normalised already
  size_t cls = kNone;
  size_t time = kNone;  // where the file has it
  size_t final_weight = kNone;
  size_t final_bias = kNone;
  std::array<float, 3> padding{};  // GatherPatches
};

// `config`: of clips (its still images read the same weights). Throws std::bad_alloc.
PackedWeights PackWeights(const BackboneConfig& config, const PixelNorm& norm,
                          const Weights& weights, Element type);

uint16_t ToBf16(float value);  // to nearest, halves to even

// The buffers of a pass of `bucket` views. Those that are needed before the first layer only lie
// where the layers have theirs.
struct PassAt {
  size_t residual = 0;         // fp32 [rows][embed_dim]
  size_t moved = 0;            // the same: where a change of scan order writes it, for kAlternating
  size_t normed = 0;           // [rows][embed_dim]
  size_t xz = 0;               // [rows][2 d_inner]
  std::array<size_t, 2> c{};   // of each direction [rows][d_inner]
  std::array<size_t, 2> dt{};  // [rows][d_inner]
  std::array<size_t, 2> bc{};  // fp32 [rows][2 d_state]
  std::array<size_t, 2> y{};   // [rows][d_inner]
  size_t workspace = 0;        // of the scan
  size_t patch_rows = 0;       // [bucket * patches][PatchLength]
  size_t patches = 0;          // fp32 [bucket * patches][embed_dim]
  size_t bytes = 0;            // of all
};
PassAt PlacePass(const BackboneConfig& config, Element type, const ScanPlan& scan, int bucket,
                 size_t workspace_bytes);

}  // namespace scanline::cuda
