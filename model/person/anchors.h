#pragma once

#include <vector>

#include "model/person/person_box.h"

namespace scanline {

// The boxes that each cell of one feature map starts from: one per scale and aspect ratio, of
// height scale / sqrt(ratio) and width scale * sqrt(ratio).
struct AnchorLayer {
  std::vector<float> scales;         // of the picture's side
  std::vector<float> aspect_ratios;  // width by height; as many
};

struct Anchor {
  float x = 0;  // centre
  float y = 0;
  float width = 0;
  float height = 0;
};

// Anchors of square feature maps of `grids` cells a side, in the order of the network's answers:
// layer, row, column, shape. Centres are those of the cells.
std::vector<Anchor> MakeAnchors(const std::vector<AnchorLayer>& layers,
                                const std::vector<int>& grids);

// What the network's numbers are multiples of ("Faster R-CNN box coder").
struct BoxCoder {
  float centre_scale = 10;
  float size_scale = 5;
};

// The box of one anchor from the network's four numbers: centre y and x in sizes of the anchor, and
// logarithms of height and width. Sides may lie outside [0, 1]; the score is 0.
PersonBox DecodeBox(const Anchor& anchor, const float* code, const BoxCoder& coder);

}  // namespace scanline
