#pragma once

#include <string>

#include "absl/status/status.h"
#include "model/checkpoint/tensor_shapes.h"
#include "model/config.h"

namespace scanline {

// What a checkpoint of the multimodal model (video_mm) does not say; defaults are those of the
// released configurations.
struct MultimodalOptions {
  std::string pool;           // cls, avg or cls+avg; "": cls+avg
  bool keep_temporal = true;  // one vector a frame, where the pool has one
  int heads = 0;              // of the text tower; 0: one for every 64 of its width
  int max_text_length = 0;    // tokens; 0: 32
};

// The parts of a multimodal model beside its backbone.
struct Multimodal {
  PoolKind pool = PoolKind::kClsPlusAvg;
  EmbedConfig embed;
  TextTowerConfig text;  // without its vocabulary
  int words = 0;         // rows of the word embeddings
};

// Reads the sizes off the shapes: layers that cross-attend are fusion layers. BUNDLE_INVALID and
// FIELD_INVALID as InferArchitecture.
absl::Status InferMultimodal(const TensorShapes& shapes, const MultimodalOptions& options,
                             Multimodal* out);

// The name of a pool in config.json.
const char* PoolName(PoolKind pool);

}  // namespace scanline
