#include "decode/orientation.h"

#include <gtest/gtest.h>

#include <array>

namespace scanline {
namespace {

constexpr int32_t kOne = 1 << 16;

using Matrix = std::array<int32_t, 9>;

Matrix MakeMatrix(int a, int b, int c, int d) {
  return {a * kOne, b * kOne, 0, c * kOne, d * kOne, 0, 0, 0, 1 << 30};
}

// Where the pixel (x, y) of a 3x2 picture is shown by the matrix itself: (a x + c y, b x + d y),
// moved so that the picture begins at 0, 0.
TEST(Orientation, AllEightMatricesMovePixelsAsTheySay) {
  constexpr int kWidth = 3, kHeight = 2;
  RgbImage stored;
  ShapeImage(stored, kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) stored.row(y)[3 * x] = static_cast<uint8_t>(10 * y + x + 1);
  }
  const int turns[8][4] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {1, 0, 0, -1}, {-1, 0, 0, -1},
                           {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, 1, 0}, {0, -1, -1, 0}};
  for (const auto& t : turns) {
    const Matrix matrix = MakeMatrix(t[0], t[1], t[2], t[3]);
    RgbImage upright;
    ApplyOrientation(OrientationFromMatrix(matrix.data()), stored.view(), upright);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        int u = t[0] * x + t[2] * y, v = t[1] * x + t[3] * y;
        if (u < 0 || t[0] + t[2] < 0) u += upright.width - 1;
        if (v < 0 || t[1] + t[3] < 0) v += upright.height - 1;
        EXPECT_EQ(upright.row(v)[3 * u], stored.row(y)[3 * x])
            << "matrix " << t[0] << t[1] << t[2] << t[3] << " pixel " << x << "," << y;
      }
    }
  }
}

TEST(Orientation, NamesTheTurnCounterClockwise) {
  const auto turn = [](int a, int b, int c, int d) {
    const Matrix matrix = MakeMatrix(a, b, c, d);
    return RotationCcw(OrientationFromMatrix(matrix.data()));
  };
  EXPECT_EQ(turn(1, 0, 0, 1), 0);
  EXPECT_EQ(turn(0, -1, 1, 0), 90);
  EXPECT_EQ(turn(-1, 0, 0, -1), 180);
  EXPECT_EQ(turn(0, 1, -1, 0), 270);
}

TEST(Orientation, LeavesThePictureWhereTheMatrixIsNoQuarterTurn) {
  const Matrix zero = {};
  const Matrix diagonal = {46341, 46341, 0, -46341, 46341, 0, 0, 0, 1 << 30};
  const Matrix slight = {65500, 2000, 0, -2000, 65500, 0, 0, 0, 1 << 30};
  EXPECT_EQ(OrientationFromMatrix(nullptr), Orientation{});
  EXPECT_EQ(OrientationFromMatrix(zero.data()), Orientation{});
  EXPECT_EQ(OrientationFromMatrix(diagonal.data()), Orientation{});
  EXPECT_EQ(OrientationFromMatrix(slight.data()), Orientation{});
}

}  // namespace
}  // namespace scanline
