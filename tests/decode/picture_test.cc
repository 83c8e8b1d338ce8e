#include "decode/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace scanline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Every pixel (x, y) holds (x, y, 7).
RgbImage Coordinates(int width, int height) {
  RgbImage image;
  ShapeImage(image, width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.row(y)[3 * x] = static_cast<uint8_t>(x);
      image.row(y)[3 * x + 1] = static_cast<uint8_t>(y);
      image.row(y)[3 * x + 2] = 7;
    }
  }
  return image;
}

std::vector<uint8_t> Make(const FrameSpec& spec, const RgbImage& image) {
  std::vector<uint8_t> out(static_cast<size_t>(spec.spatial_views) * spec.size * spec.size * 3);
  const auto shape = ShapeOf(spec, {image.width, image.height});
  EXPECT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(MakePictures(spec, image.view(), *shape, out.data()).ok());
  return out;
}

FrameSpec Spec(ResizeRule rule, int size) {
  FrameSpec spec;
  spec.resize = rule;
  spec.size = size;
  return spec;
}

TEST(MakePictures, OneViewIsTheCentreCropRoundedHalfToEven) {
  // No resize; 3 spare columns: 1.5 -> 2. 5 spare: 2.5 -> 2.
  EXPECT_EQ(Make(Spec(ResizeRule::kShortSideBilinear, 4), Coordinates(7, 4))[0], 2);
  EXPECT_EQ(Make(Spec(ResizeRule::kShortSideBilinear, 4), Coordinates(9, 4))[0], 2);
  EXPECT_EQ(Make(Spec(ResizeRule::kShortSideBilinear, 4), Coordinates(4, 9))[1], 2);
}

TEST(MakePictures, ThreeViewsLieAlongTheLongSideAndTruncate) {
  FrameSpec spec = Spec(ResizeRule::kShortSideBilinear, 4);
  spec.spatial_views = 3;
  const auto out = Make(spec, Coordinates(9, 4));
  const size_t picture = 4 * 4 * 3;
  EXPECT_THAT((std::vector<int>{out[0], out[picture], out[2 * picture]}), ElementsAre(0, 2, 5));
}

TEST(MakePictures, AreaTakesTheCentreSquareAndRoundsHalvesUp) {
  // 5x2: the square is columns 1 and 2; their mean is 1.5.
  EXPECT_THAT(Make(Spec(ResizeRule::kCentreSquareArea, 1), Coordinates(5, 2)),
              ElementsAre(2, 1, 7));
}

TEST(MakePictures, AreaWeighsPartsOfPixels) {
  // 3 pixels to 2: (0 * 1 + 1 * 0.5) / 1.5 = 1/3; (1 * 0.5 + 2) / 1.5 = 5/3.
  const auto out = Make(Spec(ResizeRule::kCentreSquareArea, 2), Coordinates(3, 3));
  EXPECT_THAT((std::vector<int>{out[0], out[3]}), ElementsAre(0, 2));
}

TEST(MakePictures, AVeryWidePictureCostsOnlyItsCrop) {
  RgbImage wide;
  ShapeImage(wide, 1 << 15, 1);
  std::fill(wide.bytes.begin(), wide.bytes.end(), 99);
  EXPECT_THAT(Make(Spec(ResizeRule::kShortSideBilinear, 224), wide), Each(99));
}

TEST(MakePictures, RefusesAPictureOutOfAllProportion) {
  RgbImage wide;
  ShapeImage(wide, 1 << 17, 1);
  const FrameSpec spec = Spec(ResizeRule::kShortSideBilinear, 224);
  EXPECT_EQ(ReasonOf(ShapeOf(spec, {wide.width, wide.height}).status()), Reason::kResolutionLimit);
  std::vector<uint8_t> out(224 * 224 * 3);
  const absl::Status status = MakePictures(spec, wide.view(), {224, 224, 224, 224}, out.data());
  EXPECT_EQ(ReasonOf(status), Reason::kResolutionLimit);
}

TEST(ValidatePicture, RefusesWhatDoesNotExist) {
  FrameSpec views = Spec(ResizeRule::kCentreSquareArea, 64);
  views.spatial_views = 3;
  FrameSpec unpadded = Spec(ResizeRule::kShortSide256Pad16, 256);
  unpadded.pad_multiple = 0;
  for (const FrameSpec& spec : {unpadded, Spec(ResizeRule::kShortSideBilinear, 0),
                                Spec(ResizeRule::kShortSideBilinear, 5'000), views}) {
    EXPECT_EQ(ReasonOf(ValidatePicture(spec)), Reason::kFieldInvalid);
  }
  EXPECT_TRUE(ValidatePicture(Spec(ResizeRule::kSquareBicubic, 224)).ok());
}

TEST(DisplaySize, StretchesTheWidth) {
  EXPECT_EQ(DisplaySize({144, 144}, 4, 3).width, 192);
  EXPECT_EQ(DisplaySize({176, 144}, 12, 11).width, 192);
  EXPECT_EQ(DisplaySize({176, 144}, 0, 1).width, 176);
  EXPECT_EQ(DisplaySize({176, 144}, 0, 1).height, 144);
}

}  // namespace
}  // namespace scanline
