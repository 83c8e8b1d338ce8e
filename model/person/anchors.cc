#include "model/person/anchors.h"

#include <cmath>
#include <cstddef>

namespace scanline {
namespace {

void AddCell(int row, int column, float stride, const AnchorLayer& layer,
             std::vector<Anchor>* anchors) {
  const float x = (static_cast<float>(column) + 0.5F) * stride;
  const float y = (static_cast<float>(row) + 0.5F) * stride;
  for (size_t shape = 0; shape < layer.scales.size(); ++shape) {
    const float root = std::sqrt(layer.aspect_ratios[shape]);
    anchors->push_back({x, y, layer.scales[shape] * root, layer.scales[shape] / root});
  }
}

}  // namespace

std::vector<Anchor> MakeAnchors(const std::vector<AnchorLayer>& layers,
                                const std::vector<int>& grids) {
  std::vector<Anchor> anchors;
  for (size_t i = 0; i < layers.size() && i < grids.size(); ++i) {
    const AnchorLayer& layer = layers[i];
    const float stride = 1.0F / static_cast<float>(grids[i]);
    for (int row = 0; row < grids[i]; ++row) {
      for (int column = 0; column < grids[i]; ++column)
        AddCell(row, column, stride, layer, &anchors);
    }
  }
  return anchors;
}

PersonBox DecodeBox(const Anchor& anchor, const float* code, const BoxCoder& coder) {
  const float y = code[0] / coder.centre_scale * anchor.height + anchor.y;
  const float x = code[1] / coder.centre_scale * anchor.width + anchor.x;
  const float half_height = std::exp(code[2] / coder.size_scale) * anchor.height / 2;
  const float half_width = std::exp(code[3] / coder.size_scale) * anchor.width / 2;
  return {x - half_width, y - half_height, x + half_width, y + half_height, 0};
}

}  // namespace scanline
