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

}  // namespace scanline::testing
