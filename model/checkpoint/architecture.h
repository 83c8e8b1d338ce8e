#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/multimodal.h"
#include "model/checkpoint/tensor_shapes.h"
#include "model/config.h"

namespace scanline {

// What a checkpoint does not say, or says otherwise than the user wants it. 0 and "": not given.
struct ArchitectureOptions {
  std::string mixer;    // a preset's name
  int frames = 0;       // of a view; position embeddings are interpolated when the bundle is loaded
  int size = 0;         // pixels, as above
  int tubelet = 0;      // of an image model only: frames that a patch spans
  bool detect = false;  // the head reads boxes (AVA), not the clip; the names do not tell
  MultimodalOptions multimodal;
};

struct Architecture {
  BackboneConfig backbone;
  std::string mixer;         // the preset of backbone.mixer
  bool mixer_known = false;  // the names leave no other choice
  bool image = false;        // patch weights have two dimensions: made for single pictures
  int stored_frames = 0;     // what the temporal embedding was made for; 0: there is none
  int stored_size = 0;       // pixels that the spatial embedding was made for
  int classes = 0;           // rows of the head; 0: none, a multimodal model
  bool detect = false;       // the head is one of boxes
  std::optional<Multimodal> multimodal;

  std::string Name() const;  // "VideoMamba-Tiny", "VideoMamba 96 wide, 3 layers"
};

// Reads the sizes off the shapes; a model with a text tower is a multimodal one. BUNDLE_INVALID: a
// tensor that they are read from is missing, or no model has such a shape. FIELD_INVALID: an option
// contradicts the file.
absl::StatusOr<Architecture> InferArchitecture(const TensorShapes& shapes,
                                               const ArchitectureOptions& options);

}  // namespace scanline
