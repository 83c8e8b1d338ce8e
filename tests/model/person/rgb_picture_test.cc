#include "model/person/rgb_picture.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/person/vectors.h"

namespace scanline {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

TEST(ResizeToSquare, IsTensorFlowsResizing) {
  const auto file = testing::PersonVectors();
  int checked = 0;
  for (const std::string& name : testing::NamesBefore(file, "/in")) {
    const auto& in = file.at(name + "/in");
    const auto& out = file.at(name + "/out");
    const int height = static_cast<int>(in.shape[0]);
    const int width = static_cast<int>(in.shape[1]);
    const int side = static_cast<int>(out.shape[0]);
    std::vector<float> got(static_cast<size_t>(out.size()));
    ResizeToSquare({in.bytes.data(), width, height, ptrdiff_t{3} * width}, side, got.data());
    // A rounding or two of numbers up to 255 that became 1.
    EXPECT_THAT(got, Pointwise(FloatNear(1e-6F), out.values<float>()))
        << height << "x" << width << " to " << side;
    ++checked;
  }
  EXPECT_GE(checked, 4);
}

TEST(ResizeToSquare, RowsMayBePadded) {
  const std::vector<uint8_t> tight = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
  std::vector<uint8_t> padded(2 * 32, 255);
  std::copy_n(tight.begin(), 6, padded.begin());
  std::copy_n(tight.begin() + 6, 6, padded.begin() + 32);
  std::vector<float> a(27);
  std::vector<float> b(27);
  ResizeToSquare({tight.data(), 2, 2, 6}, 3, a.data());
  ResizeToSquare({padded.data(), 2, 2, 32}, 3, b.data());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace scanline
