// RoIAlign's definition by hand: what the vectors of the reference (box_head_test) do not reach.
#include "model/detect/roi_align.h"

#include <gtest/gtest.h>

#include <vector>

namespace scanline::testing {
namespace {

// A map whose value at (y, x) is 10 y + x; bilinear samples of it are exact.
constexpr int kHeight = 4, kWidth = 6;
std::vector<float> Ramp() {
  std::vector<float> values;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) values.push_back(static_cast<float>(10 * y + x));
  }
  return values;
}

std::vector<float> Align(const Roi& roi, const RoiAlignOptions& options) {
  const auto values = Ramp();
  std::vector<float> out(static_cast<size_t>(options.size) * options.size);
  RoiAlign({values.data(), kHeight, kWidth, 1}, roi, options, out.data());
  return out;
}

TEST(RoiAlign, ACellIsTheMeanOfItsMiddle) {
  const auto out = Align({1, 1, 3, 3}, {.size = 2});
  EXPECT_EQ(out, (std::vector<float>{16.5F, 17.5F, 26.5F, 27.5F}));
}

TEST(RoiAlign, AlignedIsHalfACellFurtherLeftAndUp) {
  const auto out = Align({1, 1, 3, 3}, {.size = 2, .aligned = true});
  EXPECT_EQ(out, (std::vector<float>{11, 12, 21, 22}));
}

TEST(RoiAlign, UnalignedBoxesAreAtLeastOneCellLarge) {
  EXPECT_EQ(Align({1, 1, 1, 1}, {.size = 1})[0], 16.5F);
  EXPECT_EQ(Align({1.5F, 1.5F, 1.5F, 1.5F}, {.size = 1, .sampling_ratio = 1, .aligned = true})[0],
            11);
}

TEST(RoiAlign, SamplesBeyondOneCellOutsideAreZeroAndNearerOnesAreTheBorder) {
  // Two cells, sampled at x = -0.5 (the border's value, 0) and x = 8.5 (outside).
  const auto out = Align({-5, 0, 13, 1}, {.size = 2, .sampling_ratio = 1});
  EXPECT_EQ(out[1], 0);
  // y = 3.5 lies below the last row's middle: its value.
  EXPECT_EQ(Align({2, 3, 3, 4}, {.size = 1, .sampling_ratio = 1})[0], 32.5F);
  // At -0.5 the first column's value.
  EXPECT_EQ(Align({-1, 1, 0, 2}, {.size = 1, .sampling_ratio = 1})[0], 15);
}

TEST(RoiAlign, AdaptiveSamplingTakesOneSampleACellOfTheMap) {
  // One cell of 3 x 2 map cells: x at 0.5, 1.5, 2.5; y at 0.5, 1.5.
  EXPECT_EQ(Align({0, 0, 3, 2}, {.size = 1})[0], 11.5F);
  // With one sample the middle, the same on a ramp; at the border the samples differ: x = 4.5, 5.5
  // (border, 5) give 4.75, their middle is 5.
  EXPECT_EQ(Align({4, 0, 6, 1}, {.size = 1})[0], 9.75F);
  EXPECT_EQ(Align({4, 0, 6, 1}, {.size = 1, .sampling_ratio = 1})[0], 10);
}

}  // namespace
}  // namespace scanline::testing
