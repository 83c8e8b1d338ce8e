// Resizing and cropping against OpenCV 4.10 and PyTorch, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "decode/picture.h"
#include "tests/support/files.h"
#include "tests/support/safetensors.h"

namespace scanline {
namespace {

using testing::SafetensorsFile;
using testing::StoredTensor;

// The part of `name` before ".frames", for every tensor that ends so.
std::vector<std::string> Cases(const SafetensorsFile& file) {
  std::vector<std::string> cases;
  for (const auto& [name, tensor] : file.tensors) {
    const size_t dot = name.rfind(".frames");
    if (dot != std::string::npos) cases.push_back(name.substr(0, dot));
  }
  return cases;
}

RgbView FrameOf(const StoredTensor& frames, int t) {
  const int h = static_cast<int>(frames.shape[1]), w = static_cast<int>(frames.shape[2]);
  return {frames.bytes.data() + ptrdiff_t{t} * h * w * 3, w, h, ptrdiff_t{w} * 3};
}

TEST(ResizeVectors, ShortSideIsBitEqualToOpenCv) {
  const auto file = testing::ReadSafetensors(testing::ReferenceFolder() +
                                             "/preprocess_cv2_resize_crop.safetensors");
  int checked = 0;
  for (const std::string& name : Cases(file)) {
    const StoredTensor& frames = file.at(name + ".frames");
    const StoredTensor& resized = file.at(name + ".resized");
    const int h = static_cast<int>(resized.shape[1]), w = static_cast<int>(resized.shape[2]);
    std::vector<uint8_t> out(static_cast<size_t>(h) * w * 3);
    for (int t = 0; t < frames.shape[0]; ++t) {
      ResizeLinear(FrameOf(frames, t), {w, h}, {0, 0, w, h}, out.data());
      const auto* expected = resized.bytes.data() + t * out.size();
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected)) << name << " frame " << t;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
  std::printf("%d pictures equal\n", checked);
}

TEST(ResizeVectors, ThreeCropsAreThoseOfTheTestTransform) {
  const auto file = testing::ReadSafetensors(testing::ReferenceFolder() +
                                             "/preprocess_cv2_resize_crop.safetensors");
  constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kStd[] = {0.229f, 0.224f, 0.225f};
  int checked = 0;
  for (const std::string& name : Cases(file)) {
    const StoredTensor& frames = file.at(name + ".frames");
    FrameSpec spec;
    spec.size = static_cast<int>(file.at(name + ".crop0").shape[2]);
    spec.spatial_views = 3;
    const size_t plane = static_cast<size_t>(spec.size) * spec.size;
    const size_t count = frames.shape[0];
    std::vector<uint8_t> out(3 * plane * 3);
    for (size_t t = 0; t < count; ++t) {
      const RgbView frame = FrameOf(frames, static_cast<int>(t));
      const auto shape = ShapeOf(spec, {frame.width, frame.height});
      ASSERT_TRUE(shape.ok()) << shape.status();
      ASSERT_TRUE(MakePictures(spec, frame, *shape, out.data()).ok());
      for (int view = 0; view < 3; ++view) {
        const auto expected = file.at(name + ".crop" + std::to_string(view)).values<float>();
        for (size_t i = 0; i < plane * 3; ++i) {
          const size_t c = i % 3, pixel = i / 3;
          // Undone exactly: the levels are 1/255 apart, the float error far less.
          const float level =
              (expected[(c * count + t) * plane + pixel] * kStd[c] + kMean[c]) * 255;
          ASSERT_EQ(static_cast<int>(std::lround(level)), out[view * plane * 3 + i])
              << name << " frame " << t << " view " << view << " value " << i;
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(ResizeVectors, SquareBicubicIsBitEqualToPyTorch) {
  const auto file =
      testing::ReadSafetensors(testing::ReferenceFolder() + "/preprocess_mm_bicubic.safetensors");
  int checked = 0;
  for (const std::string& name : Cases(file)) {
    const StoredTensor& frames = file.at(name + ".frames");  // [t, 3, h, w]
    const StoredTensor& resized = file.at(name + ".resized_noaa");
    const int h = static_cast<int>(frames.shape[2]), w = static_cast<int>(frames.shape[3]);
    const int size = static_cast<int>(resized.shape[2]);
    for (int t = 0; t < frames.shape[0]; ++t) {
      std::vector<uint8_t> rgb(static_cast<size_t>(h) * w * 3);
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < h * w; ++i) rgb[3 * i + c] = frames.bytes[(t * 3 + c) * h * w + i];
      }
      std::vector<uint8_t> out(static_cast<size_t>(size) * size * 3);
      ResizeBicubic({rgb.data(), w, h, ptrdiff_t{w} * 3}, size, out.data());
      int differ = 0;
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < size * size; ++i) {
          differ += out[3 * i + c] != resized.bytes[(t * 3 + c) * size * size + i];
        }
      }
      EXPECT_EQ(differ, 0) << name << " frame " << t;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace scanline
