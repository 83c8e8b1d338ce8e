#include "base/picture_geometry.h"

#include <gtest/gtest.h>

namespace scanline {
namespace {

FrameSpec Spec(ResizeRule rule, int size, int spatial_views = 1) {
  FrameSpec spec;
  spec.resize = rule;
  spec.size = size;
  spec.spatial_views = spatial_views;
  return spec;
}

constexpr ResizeRule kRules[] = {ResizeRule::kShortSideBilinear, ResizeRule::kSquareBicubic,
                                 ResizeRule::kShortSide256Pad16, ResizeRule::kCentreSquareArea};

void ExpectNear(const Box& got, const Box& want, double tolerance) {
  EXPECT_NEAR(got.x_min, want.x_min, tolerance);
  EXPECT_NEAR(got.y_min, want.y_min, tolerance);
  EXPECT_NEAR(got.x_max, want.x_max, tolerance);
  EXPECT_NEAR(got.y_max, want.y_max, tolerance);
}

TEST(PictureGeometry, BoxesComeBackFromEveryPicture) {
  const Box box = {0.1, 0.3, 0.45, 0.9};
  for (const ResizeRule rule : kRules) {
    for (const auto& [width, height] : {std::pair{768, 576}, {576, 768}, {333, 1000}, {64, 64}}) {
      const PictureGeometry g = GeometryOf(Spec(rule, 256), width, height);
      ExpectNear(ToFrame(g, ToPicture(g, box)), box, 1e-12);
      EXPECT_LE(g.valid_width, g.width);
      EXPECT_LE(g.valid_height, g.height);
    }
  }
}

TEST(PictureGeometry, CentreSquareMovesBoxesIntoTheSquare) {
  // 160 x 90 shows x from 35 to 125.
  const PictureGeometry g = GeometryOf(Spec(ResizeRule::kCentreSquareArea, 64), 160, 90);
  ExpectNear(ToPicture(g, {35.0 / 160, 0, 125.0 / 160, 1}), {0, 0, 64, 64}, 1e-9);
  const auto part = VisibleBox(g, {0, 0.5, 0.5, 1.0}, false);
  ASSERT_TRUE(part.has_value());
  ExpectNear(*part, {0, 32, 32, 64}, 1e-9);
  EXPECT_FALSE(VisibleBox(g, {0, 0, 35.0 / 160, 1}, false).has_value());
  EXPECT_FALSE(VisibleBox(g, {126.0 / 160, 0, 1, 1}, false).has_value());
}

TEST(PictureGeometry, ShortSideIsTruncatedAndCroppedAsTheLoadersDo) {
  const FrameSpec spec = Spec(ResizeRule::kShortSideBilinear, 224, 3);
  const PictureGeometry g = GeometryOf(spec, 340, 256, 2);
  EXPECT_EQ(g.full_width, 297);  // 297.5
  EXPECT_EQ(g.x, 73);
  EXPECT_EQ(g.y, 0);
}

TEST(PictureGeometry, PaddedPicturesAreWholeAndMultiplesOfSixteen) {
  const FrameSpec spec = Spec(ResizeRule::kShortSide256Pad16, 256);
  const PictureGeometry g = GeometryOf(spec, 1920, 1080);
  EXPECT_EQ(g.valid_width, 455);
  EXPECT_EQ(g.valid_height, 256);
  EXPECT_EQ(g.width, 464);
  EXPECT_EQ(g.height, 256);
  ExpectNear(ToPicture(g, {0, 0, 1, 1}), {0, 0, 455, 256}, 1e-9);
}

TEST(VisibleBox, InclusiveBoxesEndWithTheirLastPixelOfTheFrame) {
  // AVA's 640 x 480 at 256 high: a pixel of the frame is 0.533 high in the picture.
  const FrameSpec spec = Spec(ResizeRule::kShortSide256Pad16, 256);
  const PictureGeometry g = GeometryOf(spec, 640, 480);
  const auto box = VisibleBox(g, {0.25, 0.5, 0.5, 1}, true);
  ASSERT_TRUE(box.has_value());
  ExpectNear(*box, {85.25, 128, 170.5 - 341.0 / 640, 256 - 256.0 / 480}, 1e-9);
}

}  // namespace
}  // namespace scanline
