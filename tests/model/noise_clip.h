#pragma once

#include "base/clip.h"
#include "model/config.h"

namespace scanline::testing {

// A clip of `views` views over `pictures` pictures of noise, as the model wants them; one window.
inline Clip NoiseClip(const ModelConfig& config, int pictures, int views, unsigned seed) {
  Clip clip;
  clip.width = clip.height = config.backbone.size;
  clip.pixels.resize(clip.picture_bytes() * pictures);
  for (uint8_t& value : clip.pixels)
    value = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  clip.windows.resize(1);
  for (int v = 0; v < views; ++v) {
    View view;
    for (int i = 0; i < config.backbone.frames; ++i)
      view.pictures.push_back((v + i * 3) % pictures);
    clip.views.push_back(view);
  }
  return clip;
}

}  // namespace scanline::testing
