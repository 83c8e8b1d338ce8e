#pragma once

#include "absl/status/status.h"
#include "model/config.h"
#include "model/weights.h"

namespace scanline {

// Position embeddings of one grid or length made to fit another, as the official code does it
// (torch.nn.functional.interpolate, align_corners false; docs/models.md).

// [1, 1 + g*g, dim] -> [1, 1 + rows*columns, dim]: bicubic with a = -0.75 and no anti-aliasing;
// entry 0 belongs to cls and stays.
Tensor ResizeGrid(const Tensor& embedding, int rows, int columns);

// [1, t, dim] -> [1, steps, dim]: linear.
Tensor ResizeTime(const Tensor& embedding, int steps);

// temporal_pos_embedding made to fit `config`, and pos_embed where all pictures are size x size;
// for pictures of any shape (`fixed_size` false) it stays as it was trained, and Backbone resizes
// it. BUNDLE_INVALID when pos_embed is not cls and a square grid.
absl::Status FitPositions(const BackboneConfig& config, bool fixed_size, Weights* weights);

// The side of the grid that [1, 1 + g*g, dim] was made for; -1: not a square.
int GridOf(const Tensor& embedding);

}  // namespace scanline
