#include "model/mixer.h"

#include <algorithm>

#include "model/pass_times.h"

namespace scanline {

// One of the two as Scan runs it.
struct Mixer::Direction {
  const PackedDirection& weights;
  const Walk& walk;
  float* y;
  bool backward;
  bool anti_causal;  // the convolution's direction
  int tiles_wanted;  // of the read-out, from tile 0
};

Mixer::Mixer(const BackboneConfig& config, const Kernels& kernels, Precision precision, Team& team)
    : config_(config),
      kernels_(kernels),
      precision_(precision),
      team_(team),
      shape_(config),
      walks_(team.size() % 2 == 0 ? 2 : 1),
      own_(static_cast<size_t>(team.size())) {
  for (int i = 0; i < walks_; ++i) barriers_.emplace_back(team.size() / walks_, team.size());
}

void Mixer::Plan(int tokens, ArenaPlan* plan, size_t projected) {
  const size_t all = static_cast<size_t>(TilesOf(tokens)) * tile_floats();
  const size_t states = static_cast<size_t>(shape_.channels) * shape_.state;
  const int longest = std::max(config_.embed_dim, config_.d_inner());
  const size_t rounded =
      precision_ == Precision::kBf16 ? Bf16ScratchSize(kTileTokens, longest) / 2 : 0;
  plan->Add(&xz_, std::max(2 * all, projected));
  for (int i = 0; i < 2; ++i) {
    plan->Add(&y_[i], all);
    plan->Add(&walk_[i].u, tile_floats());
    plan->Add(&walk_[i].x_dbl, static_cast<size_t>(kTileTokens) * shape_.row);
    plan->Add(&walk_[i].h, states);
    plan->Add(&walk_[i].earlier, static_cast<size_t>(shape_.channels));
  }
  for (OwnMemory& own : own_) {
    plan->Add(&own.delta, size_t{kPanel} * kTileTokens);
    plan->Add(&own.gated, tile_floats());
    plan->Add(&own.rounded, rounded);
  }
}

int Mixer::Count(int tile) const { return std::min(kTileTokens, tokens_ - tile * kTileTokens); }

void Mixer::ProjectIn(const PackedMixer& weights, int tile, const float* rows, int rank) {
  const Timed timed(times_ != nullptr ? &times_->products : nullptr);
  weights.in_proj.Run(kernels_,
                      {.count = Count(tile),
                       .x = rows,
                       .x_stride = config_.embed_dim,
                       .out = XOf(tile),
                       .out_stride = kBlock,
                       .out_block = kTileBlock},
                      own_[rank].scratch());
}

void Mixer::ProjectOut(const PackedMixer& weights, int tile, float* rows, int rank) {
  const OwnMemory& own = own_[rank];
  {
    const Timed timed(times_ != nullptr ? &times_->other : nullptr);
    const ptrdiff_t at = static_cast<ptrdiff_t>(tile * tile_floats());
    kernels_.gate_tile({.count = Count(tile),
                        .channels = shape_.channels,
                        .forward = y_[0] + at,
                        .backward = y_[1] + at,
                        .z = config_.mixer.gate ? ZOf(tile) : nullptr,
                        .out = own.gated});
  }
  const Timed timed(times_ != nullptr ? &times_->products : nullptr);
  weights.out_proj.Run(kernels_,
                       {.count = Count(tile),
                        .x = own.gated,
                        .x_stride = kBlock,
                        .x_block = kTileBlock,
                        .out = rows,
                        .out_stride = config_.embed_dim},
                       own.scratch());
}

// The states of panels [begin, end) before the first token.
void Mixer::Begin(const Direction& direction, int begin, int end) const {
  const int from = begin * kPanel;
  const int to = end * kPanel;
  const int states = shape_.state;
  std::fill(direction.walk.earlier + from, direction.walk.earlier + to, 0.0F);
  float* h = direction.walk.h;
  if (config_.mixer.init == MixerConfig::Init::kZero) {
    std::fill(h + static_cast<ptrdiff_t>(from) * states, h + static_cast<ptrdiff_t>(to) * states,
              0.0F);
    return;
  }
  const bool raw = config_.mixer.scan_input == MixerConfig::ScanInput::kRaw;
  const int tile = direction.backward ? tiles() - 1 : 0;
  const int token = direction.backward ? Count(tile) - 1 : 0;
  const float* u = raw ? XOf(tile) : direction.walk.u;
  for (int c = from; c < to; ++c) {
    float* block = h + static_cast<ptrdiff_t>(c / kBlock) * states * kBlock + c % kBlock;
    const float value = u[c / kBlock * kTileBlock + token * kBlock + c % kBlock];
    for (int n = 0; n < states; ++n) block[n * kBlock] = value;
  }
}

void Mixer::Convolve(const Direction& direction, int tile, int begin, int end) const {
  const Timed timed(times_ != nullptr ? &times_->conv : nullptr);
  const int channel = begin * kPanel;
  const ptrdiff_t at = channel / kBlock * kTileBlock;
  const bool last = tile + 1 == tiles();
  kernels_.conv_tile({.count = Count(tile),
                      .channels = (end - begin) * kPanel,
                      .width = config_.d_conv,
                      .x = XOf(tile) + at,
                      .before = tile > 0 ? XOf(tile - 1) + at : nullptr,
                      .after = last ? nullptr : XOf(tile + 1) + at,
                      .after_count = last ? 0 : Count(tile + 1),
                      .weight = direction.weights.conv_weight.get() +
                                static_cast<ptrdiff_t>(channel) * config_.d_conv,
                      .bias = direction.weights.conv_bias.get() + channel,
                      .out = direction.walk.u + at,
                      .reverse = direction.anti_causal});
}

// [dt | B | C] = x_proj u, this thread's part of the tokens.
void Mixer::ProjectX(const Direction& direction, int tile, int rank) const {
  const Timed timed(times_ != nullptr ? &times_->products : nullptr);
  const Share rows(Count(tile), rank / walks_, team_.size() / walks_);
  const PackedMatrix& x_proj = direction.weights.x_proj;
  if (rows.begin == rows.end) return;
  x_proj.Run(kernels_,
             {.count = rows.end - rows.begin,
              .x = direction.walk.u + rows.begin * kBlock,
              .x_stride = kBlock,
              .x_block = kTileBlock,
              .out = direction.walk.x_dbl + static_cast<ptrdiff_t>(rows.begin) * shape_.row,
              .out_stride = shape_.row},
             own_[rank].scratch());
}

// The x of a panel of a tile, on its way to the second-level cache while the scan, which waits for
// no memory, is at work.
void Mixer::Prefetch(int tile, int panel) const {
  if (tile < 0 || tile >= tiles()) return;
  constexpr ptrdiff_t kLine = 16;  // floats
  const float* x = XOf(tile) + panel * kPanel / kBlock * kTileBlock;
  for (ptrdiff_t i = 0; i < kPanel / kBlock * kTileBlock; i += kLine) {
    __builtin_prefetch(x + i, /*for writing*/ 0, /*locality*/ 2);
  }
}

// delta = dt_proj dt and the scan, panel by panel, so that delta stays in the first-level cache.
void Mixer::ScanPanels(const Direction& direction, int tile, bool first, int begin, int end,
                       int rank) const {
  const bool raw = config_.mixer.scan_input == MixerConfig::ScanInput::kRaw;
  const bool cumulative = config_.mixer.residual == MixerConfig::Residual::kCumulative;
  const float* x_dbl = direction.walk.x_dbl;
  const PackedDirection& weights = direction.weights;
  float* delta = own_[rank].delta;
  for (int panel = begin; panel < end; ++panel) {
    const int channel = panel * kPanel;
    const ptrdiff_t at = channel / kBlock * kTileBlock;
    const ptrdiff_t states = static_cast<ptrdiff_t>(channel) * shape_.state;
    Prefetch(direction.backward ? tile - 1 : tile + 1, panel);
    {
      const Timed timed(times_ != nullptr ? &times_->products : nullptr);
      weights.dt_proj.RunPanel(kernels_,
                               {.count = Count(tile),
                                .x = x_dbl,
                                .x_stride = shape_.row,
                                .out = delta,
                                .out_stride = kBlock,
                                .out_block = kTileBlock},
                               panel);
    }
    const Timed timed(times_ != nullptr ? &times_->scan : nullptr);
    kernels_.scan_tile({.count = Count(tile),
                        .channels = kPanel,
                        .state = shape_.state,
                        .u = (raw ? XOf(tile) : direction.walk.u) + at,
                        .delta = delta,
                        .b = x_dbl + shape_.b_at,
                        .c = x_dbl + shape_.c_at,
                        .bc_stride = shape_.row,
                        .a2 = weights.a2.get() + states,
                        .d = weights.d.get() + channel,
                        .delta_bias = weights.dt_bias.get() + channel,
                        .h = direction.walk.h + states,
                        .earlier = cumulative ? direction.walk.earlier + channel : nullptr,
                        .y = direction.y + tile * tile_floats() + at,
                        .reverse = direction.backward,
                        .mask = direction.backward && config_.mixer.mask_backward,
                        .first = first});
  }
}

// Tile after tile in scan order. The threads of a direction share its channels by panels; they meet
// before x_proj, which reads all channels, and before the scan, which reads all of its columns.
void Mixer::WalkDirection(const Direction& direction, int rank, Barrier& barrier) {
  const int size = team_.size() / walks_;
  const Share own(shape_.channels / kPanel, rank / walks_, size);
  const int steps = direction.backward ? tiles() : std::min(tiles(), direction.tiles_wanted);
  for (int step = 0; step < steps; ++step) {
    const int tile = direction.backward ? tiles() - 1 - step : step;
    Convolve(direction, tile, own.begin, own.end);
    if (step == 0) Begin(direction, own.begin, own.end);
    if (size > 1) barrier.Wait();
    ProjectX(direction, tile, rank);
    if (size > 1) barrier.Wait();
    ScanPanels(direction, tile, step == 0, own.begin, own.end, rank);
  }
}

void Mixer::Scan(const PackedMixer& weights, bool first_tile_only) {
  const int wanted = first_tile_only ? 1 : tiles();
  const Direction forward{weights.forward, walk_[0], y_[0], false, false, wanted};
  // Shared parameters: the official code scans the forward convolution's output in reverse.
  const Direction backward{weights.backward, walk_[1], y_[1], true, !config_.mixer.shared, wanted};
  team_.Run([&](int rank) {
    if (walks_ == 2) {
      WalkDirection(rank % 2 == 0 ? forward : backward, rank, barriers_[rank % 2]);
    } else {
      WalkDirection(forward, rank, barriers_[0]);
      WalkDirection(backward, rank, barriers_[0]);
    }
  });
}

}  // namespace scanline
