#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/team.h"
#include "model/arena.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/packed_mixer.h"
#include "model/pass_times.h"

namespace scanline {

// Both directions of one layer's mixer over a sequence in tiles of kTileTokens tokens. A layer is
// ProjectIn of every tile, Scan, ProjectOut of every tile; the sequence stays in this memory
// between, and every layer uses the same. Formulas: docs/models.md.
class Mixer {
 public:
  // Keeps the references. The kernels must have packed_linear_bf16 for kBf16.
  Mixer(const BackboneConfig& config, const Kernels& kernels, Precision precision, Team& team);

  // Adds what memory sequences of `tokens` tokens need, with at least `projected` floats in
  // projected(). The plan has to be placed before anything else.
  void Plan(int tokens, ArenaPlan* plan, size_t projected = 0);

  // Sequences have `tokens` tokens from now on, in the memory planned for them.
  void SetLength(int tokens) { tokens_ = tokens; }

  int tiles() const { return TilesOf(tokens_); }
  int Count(int tile) const;  // tokens in it

  // x and z of a tile. `rows`: [Count(tile)][embed_dim]. Tiles are independent: any thread of the
  // team (`rank`) may take any.
  void ProjectIn(const PackedMixer& weights, int tile, const float* rows, int rank);

  // Convolution and scan of both directions, by the whole team. `first_tile_only`: nothing behind
  // tile 0 will be projected out.
  void Scan(const PackedMixer& weights, bool first_tile_only);

  // Gate and out_proj of a tile to `rows`, [Count(tile)][embed_dim].
  void ProjectOut(const PackedMixer& weights, int tile, float* rows, int rank);

  // What ProjectIn writes and Scan reads: memory for something else before the first layer.
  float* projected() { return xz_; }

  // Adds to `times` from now on, until it is null.
  void Measure(PassTimes* times) { times_ = times; }

 private:
  struct Direction;  // of one Scan
  // What a group of threads shares as it walks a direction.
  struct Walk {
    float* u;        // a tile, after the convolution
    float* x_dbl;    // [kTileTokens][shape_.row]
    float* h;        // [channels / kBlock][state][kBlock]
    float* earlier;  // [channels]
  };
  struct OwnMemory {
    float* delta;    // a panel of a tile
    float* gated;    // a tile
    float* rounded;  // for kBf16: pairs of values
    uint16_t* scratch() const { return reinterpret_cast<uint16_t*>(rounded); }
  };

  static int TilesOf(int tokens) { return (tokens + kTileTokens - 1) / kTileTokens; }
  size_t tile_floats() const { return static_cast<size_t>(shape_.channels) * kTileTokens; }
  float* XOf(int tile) const { return xz_ + tile * 2 * tile_floats(); }
  float* ZOf(int tile) const { return XOf(tile) + tile_floats(); }

  void Begin(const Direction& direction, int begin, int end) const;
  void WalkDirection(const Direction& direction, int rank, Barrier& barrier);
  void Convolve(const Direction& direction, int tile, int begin, int end) const;
  void ProjectX(const Direction& direction, int tile, int rank) const;
  void Prefetch(int tile, int panel) const;
  void ScanPanels(const Direction& direction, int tile, bool first, int begin, int end,
                  int rank) const;

  const BackboneConfig& config_;
  const Kernels& kernels_;
  const Precision precision_;
  Team& team_;
  const MixerShape shape_;
  const int walks_;               // directions that run side by side
  std::deque<Barrier> barriers_;  // one a direction that runs beside the other

  int tokens_ = 0;
  float* xz_ = nullptr;  // [tiles][x, z]
  float* y_[2] = {};     // [tiles] of each direction
  Walk walk_[2] = {};
  std::vector<OwnMemory> own_;  // of each thread
  PassTimes* times_ = nullptr;
};

// A share of [0, count) for thread `rank` of `size`.
struct Share {
  Share(int count, int rank, int size)
      : begin(static_cast<int>(int64_t{count} * rank / size)),
        end(static_cast<int>(int64_t{count} * (rank + 1) / size)) {}
  int begin;
  int end;
};

}  // namespace scanline
