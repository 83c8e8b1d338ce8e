#pragma once

#include "model/config.h"

namespace scanline::testing {

// A model small enough for the double reference, with every size different from the others; its 24
// columns are no multiple of a warp.
inline ModelConfig SmallModel() {
  ModelConfig model;
  BackboneConfig& config = model.backbone;
  config.embed_dim = 24;
  config.depth = 3;
  config.d_state = 8;
  config.dt_rank = 2;
  config.patch = 4;
  config.tubelet = 2;
  config.frames = 6;
  config.size = 8;
  model.classify.labels = {"a", "b", "c"};
  return model;
}

inline constexpr ScanOrder kScanOrders[] = {ScanOrder::kSpatialFirst, ScanOrder::kTemporalFirst,
                                            ScanOrder::kAlternating};
inline constexpr PoolKind kPools[] = {PoolKind::kCls, PoolKind::kAvg, PoolKind::kClsPlusAvg,
                                      PoolKind::kClsPlusAvgDeltaMax};

// The combinations of the mixer's switches are 0 to 63.
inline MixerConfig SwitchesOf(int bits) {
  const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
  MixerConfig mixer;
  mixer.shared = bit(0);
  mixer.scan_input = bit(1) ? MixerConfig::ScanInput::kRaw : MixerConfig::ScanInput::kConv;
  mixer.init = bit(2) ? MixerConfig::Init::kFirstToken : MixerConfig::Init::kZero;
  mixer.mask_backward = bit(3);
  mixer.residual = bit(4) ? MixerConfig::Residual::kCumulative : MixerConfig::Residual::kNone;
  mixer.gate = !bit(5);
  return mixer;
}

}  // namespace scanline::testing
