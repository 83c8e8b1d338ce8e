#include "model/person/parts.h"

#include "gtest/gtest.h"

namespace scanline {
namespace {

constexpr int kWidth = 100;
constexpr int kHeight = 50;

RgbPicture Whole(const uint8_t* data = nullptr) { return {data, kWidth, kHeight, 3 * kWidth}; }

TEST(CornerParts, CoverThePictureAndShareAStrip) {
  const auto parts = CornerParts(kWidth, kHeight);
  ASSERT_EQ(parts.size(), 4);
  std::vector<int> covered(kWidth * kHeight, 0);
  for (const PicturePart& part : parts) {
    EXPECT_EQ(part.width, 60);
    EXPECT_EQ(part.height, 30);
    for (int y = part.y; y < part.y + part.height; ++y) {
      for (int x = part.x; x < part.x + part.width; ++x) ++covered[y * kWidth + x];
    }
  }
  EXPECT_EQ(covered[0], 1);
  EXPECT_EQ(covered[50], 2);
  EXPECT_EQ(covered[25 * kWidth + 50], 4);
  for (int times : covered) EXPECT_GE(times, 1);
}

TEST(CornerParts, StayInsideTheSmallestPictures) {
  for (int side = 1; side < 12; ++side) {
    for (const PicturePart& part : CornerParts(side, 1)) {
      EXPECT_GE(part.x, 0);
      EXPECT_GE(part.width, 1);
      EXPECT_LE(part.x + part.width, side);
      EXPECT_EQ(part.height, 1);
    }
  }
}

TEST(PartOf, SharesThePixels) {
  std::vector<uint8_t> pixels(3 * kWidth * kHeight);
  const RgbPicture part = PartOf(Whole(pixels.data()), {40, 20, 60, 30});
  EXPECT_EQ(part.data, pixels.data() + 3 * (20 * kWidth + 40));
  EXPECT_EQ(part.width, 60);
  EXPECT_EQ(part.height, 30);
  EXPECT_EQ(part.stride, 3 * kWidth);
}

TEST(InWhole, PlacesTheBox) {
  const PersonBox box = InWhole({0.5F, 0, 1, 0.5F, 0.7F}, {40, 20, 60, 30}, Whole());
  EXPECT_FLOAT_EQ(box.x_min, 0.7F);
  EXPECT_FLOAT_EQ(box.x_max, 1);
  EXPECT_FLOAT_EQ(box.y_min, 0.4F);
  EXPECT_FLOAT_EQ(box.y_max, 0.7F);
  EXPECT_EQ(box.score, 0.7F);
}

TEST(CutOff, OnlyWhereThePictureGoesOn) {
  const PicturePart upper_left = {0, 0, 60, 30};
  const PicturePart lower_right = {40, 20, 60, 30};
  const PersonBox at_left = {0, 0.2F, 0.5F, 0.8F, 1};
  const PersonBox at_top = {0.2F, 0, 0.5F, 0.8F, 1};
  const PersonBox at_right = {0.5F, 0.2F, 0.995F, 0.8F, 1};
  const PersonBox at_bottom = {0.2F, 0.2F, 0.5F, 1, 1};
  const PersonBox inside = {0.2F, 0.2F, 0.8F, 0.8F, 1};
  EXPECT_FALSE(CutOff(at_left, upper_left, Whole()));
  EXPECT_FALSE(CutOff(at_top, upper_left, Whole()));
  EXPECT_TRUE(CutOff(at_right, upper_left, Whole()));
  EXPECT_TRUE(CutOff(at_bottom, upper_left, Whole()));
  EXPECT_TRUE(CutOff(at_left, lower_right, Whole()));
  EXPECT_TRUE(CutOff(at_top, lower_right, Whole()));
  EXPECT_FALSE(CutOff(at_right, lower_right, Whole()));
  EXPECT_FALSE(CutOff(at_bottom, lower_right, Whole()));
  EXPECT_FALSE(CutOff(inside, lower_right, Whole()));
}

}  // namespace
}  // namespace scanline
