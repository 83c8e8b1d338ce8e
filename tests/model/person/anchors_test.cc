#include "model/person/anchors.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/model/person/vectors.h"

namespace scanline {
namespace {

// The numbers of ssd_anchor_generator for six layers from 0.2 to 0.95, the lowest one reduced.
std::vector<AnchorLayer> SsdLayers() {
  std::vector<AnchorLayer> layers = {{{0.1F, 0.2F, 0.2F}, {1, 2, 0.5F}}};
  for (int i = 1; i < 6; ++i) {
    const auto scale = static_cast<float>(0.2 + 0.15 * i);
    const auto next = static_cast<float>(i < 5 ? 0.35 + 0.15 * i : 1);
    layers.push_back({{scale, scale, scale, scale, scale, std::sqrt(scale * next)},
                      {1, 2, 0.5F, 3, 0.3333F, 1}});
  }
  return layers;
}

TEST(MakeAnchors, AreTheGraphsAnchors) {
  const auto file = testing::PersonVectors();
  const std::vector<float> stored = file.at("anchors").values<float>();  // y1, x1, y2, x2
  const auto anchors = MakeAnchors(SsdLayers(), {19, 10, 5, 3, 2, 1});
  ASSERT_EQ(anchors.size(), 1917);
  ASSERT_EQ(stored.size(), 4 * anchors.size());
  const float zero[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < anchors.size(); ++i) {
    const PersonBox box = DecodeBox(anchors[i], zero, {});
    // A rounding or two of numbers up to 2.
    EXPECT_NEAR(box.y_min, stored[4 * i], 5e-7) << i;
    EXPECT_NEAR(box.x_min, stored[4 * i + 1], 5e-7) << i;
    EXPECT_NEAR(box.y_max, stored[4 * i + 2], 5e-7) << i;
    EXPECT_NEAR(box.x_max, stored[4 * i + 3], 5e-7) << i;
  }
}

TEST(DecodeBox, MovesAndScalesTheAnchor) {
  const Anchor anchor = {.x = 0.5F, .y = 0.4F, .width = 0.2F, .height = 0.6F};
  const float twice = std::log(2.0F);
  const float code[4] = {10 * 0.1F, 10 * -0.5F, 5 * twice, 5 * -twice};
  const PersonBox box = DecodeBox(anchor, code, {.centre_scale = 10, .size_scale = 5});
  EXPECT_NEAR(box.y_min, 0.4 + 0.06 - 0.6, 1e-6);
  EXPECT_NEAR(box.y_max, 0.4 + 0.06 + 0.6, 1e-6);
  EXPECT_NEAR(box.x_min, 0.5 - 0.1 - 0.05, 1e-6);
  EXPECT_NEAR(box.x_max, 0.5 - 0.1 + 0.05, 1e-6);
}

}  // namespace
}  // namespace scanline
