#pragma once

#include <vector>

#include "model/backbone.h"
#include "model/tokens.h"

namespace scanline::testing {

// One pass over the patches that are there, pooled as the heads do it.
inline std::vector<float> RunPooled(Backbone& backbone, BackboneTrace* trace = nullptr) {
  const BackboneConfig& config = backbone.config();
  const bool cls = config.pool == PoolKind::kCls;
  const float* normed = backbone.Run(cls ? Backbone::Rows::kCls : Backbone::Rows::kAll, trace);
  std::vector<float> pooled(config.pooled_dim());
  PoolTokens(normed, config, pooled.data());
  return pooled;
}

}  // namespace scanline::testing
