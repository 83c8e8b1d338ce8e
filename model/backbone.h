#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/team.h"
#include "model/arena.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/mixer.h"
#include "model/packed_mixer.h"
#include "model/pass_times.h"
#include "model/patches.h"
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

// How a pass is run. The default: fp32, on the caller's thread.
struct PassOptions {
  Precision precision = Precision::kFp32;
  Team* team = nullptr;                  // none: the caller alone
  Arena* arena = nullptr;                // of all passes of a worker; none: one of its own
  std::optional<PixelNorm> pixels = {};  // where pictures will be read
};

// The weights of a backbone as its passes read them, once for all workers of a bundle.
struct PackedBackbone {
  PackedMatrix patches;
  PackedMatrix pixel_patches;  // the same for pixels, with the normalisation inside
  std::vector<float> pixel_bias;
  std::vector<PackedMixer> mixers;  // one a layer

  static std::shared_ptr<const PackedBackbone> Of(const BackboneConfig& config,
                                                  const Weights& weights,
                                                  const PassOptions& options);
};

// Patches to tokens, one view at a time; sums, states, norms and the residual stream in fp32. Keeps
// pointers into `weights`; what a pass needs lies in the arena, which is large enough from the
// beginning and grows for larger pictures only. It is not reentrant.
//
// Between two scans every tile of tokens goes through the end of one layer and the beginning of the
// next while it is in the cache: gate, out_proj, residual, norm, in_proj.
class Backbone {
 public:
  // Which tokens the final norm is taken of.
  enum class Rows { kCls, kAll };

  Backbone(const BackboneConfig& config, const Weights& weights, const Kernels& kernels,
           PassOptions options = {});

  // For pictures of height x width from now on, multiples of patch: pos_embed is resized to their
  // grid (kept for the latest shapes). What it throws leaves the old shape.
  void Reshape(int height, int width);

  // With the height and width of the pictures.
  const BackboneConfig& config() const { return config_; }

  // Where a pass begins: [tokens - 1][PatchLength], filled by the caller before Run, overwritten by
  // it. With normalised values, or with those of PatchesFromPictures, which needs
  // PassOptions::pixels. Throws std::bad_alloc where the arena cannot grow.
  float* patches() { return Patches(/*pixels=*/false); }
  float* pixel_patches() { return Patches(/*pixels=*/true); }

  // The tokens after the final norm, [tokens][embed_dim] in OutputOrder, of which row 0 is cls;
  // with kCls that row alone holds them. Good until the arena's next pass.
  const float* Run(Rows rows, BackboneTrace* trace = nullptr);

  // Adds to `times` from now on, until it is null.
  void Measure(PassTimes* times);

 private:
  struct Norm {
    const float* weight;
    const float* bias;  // LayerNorm only
  };
  struct OwnMemory {  // of a thread, [kTileTokens][embed_dim]
    float* hidden;
    float* normed;
  };

  float* Patches(bool pixels);
  ArenaPlan PlanFor(const BackboneConfig& shaped);
  const float* PositionsFor(int rows, int columns);
  void Embed();
  void EmbedTile(int tile, float* embedded);
  void Move(ScanOrder from, ScanOrder to);
  void EnterLayer(int layer, int tile, const float* hidden, int rank);
  void AddNormRows(const Norm& norm, int tile, const float* hidden, float* out);
  void PrefetchResidual(int tile) const;
  void FinalNorm(int rows);
  void RunLayer(int layer, bool cls_only, BackboneTrace* trace);
  std::vector<float> Copy(const float* rows) const;
  bool SameOrder(int layer, int next) const;

  BackboneConfig config_;
  const Weights& weights_;
  const Kernels& kernels_;
  std::shared_ptr<const PackedBackbone> packed_;
  std::vector<Norm> norms_;  // of each layer, then the final one
  std::unique_ptr<Team> own_team_;
  Team& team_;
  Mixer mixer_;
  PassTimes* times_ = nullptr;

  Arena own_arena_;
  Arena& arena_;
  ArenaPlan plan_;
  float* residual_ = nullptr;  // [tokens][embed_dim]
  float* spare_ = nullptr;     // [tokens][embed_dim]
  std::vector<OwnMemory> own_;
  bool pixels_ = false;           // what patches hold
  const float* space_ = nullptr;  // pos_embed of the grid, [1 + cells][embed_dim]
  std::deque<std::pair<std::pair<int, int>, Tensor>> grids_;  // resized ones, the latest last
};

}  // namespace scanline
