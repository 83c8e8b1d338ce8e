#include "model/position.h"

#include <gtest/gtest.h>

#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

Tensor AsTensor(const StoredTensor& stored) {
  Tensor tensor{.shape = stored.shape};
  const auto values = Floats(stored);
  tensor.data = AllocateFloats(values.size());
  std::copy(values.begin(), values.end(), tensor.data.get());
  return tensor;
}

std::vector<float> Values(const Tensor& tensor) {
  return {tensor.data.get(), tensor.data.get() + tensor.size()};
}

TEST(Position, InterpolatesAsTheOfficialLoaderDoes) {
  const SafetensorsFile file = ReadReference("pos_interpolation");
  for (const std::string& name : Cases(file)) {
    SCOPED_TRACE(name);
    const StoredTensor& grid = file.at(name + ".pos_embed_out");
    const StoredTensor& time = file.at(name + ".temporal_out");
    Weights weights;
    weights.Add("pos_embed", file.at(name + ".pos_embed").shape,
                Floats(file.at(name + ".pos_embed")));
    weights.Add("temporal_pos_embedding", file.at(name + ".temporal").shape,
                Floats(file.at(name + ".temporal")));
    BackboneConfig config;
    config.patch = 1;
    config.size = static_cast<int>(std::lround(std::sqrt(grid.shape[1] - 1)));
    config.frames = static_cast<int>(time.shape[1]);
    ASSERT_TRUE(FitPositions(config, true, &weights).ok());
    EXPECT_EQ(weights.Get("pos_embed").shape, grid.shape);
    EXPECT_LE(RelMax(Values(weights.Get("pos_embed")), Floats(grid)), 2e-6);
    EXPECT_LE(RelMax(Values(weights.Get("temporal_pos_embedding")), Floats(time)), 2e-6);
  }
}

TEST(Position, TheSameSizeIsLeftAlone) {
  const SafetensorsFile file = ReadReference("pos_interpolation");
  const Tensor grid = AsTensor(file.at(Cases(file)[0] + ".pos_embed"));
  const int side = GridOf(grid);
  EXPECT_LE(MaxDifference(Values(ResizeGrid(grid, side, side)), Values(grid)), 1e-7);
  const Tensor time = AsTensor(file.at(Cases(file)[0] + ".temporal"));
  EXPECT_EQ(Values(ResizeTime(time, static_cast<int>(time.shape[1]))), Values(time));
}

// torch 2.11: interpolate(size=(2, 5), mode="bicubic", align_corners=False).
TEST(Position, AnyShapeIsMadeAsTorchMakesIt) {
  Tensor trained = {.shape = {1, 10, 1}, .data = AllocateFloats(10)};
  const std::vector<float> values = {42, 1, 5, 2, 0, -3, 4, 2.5, 7, -1};
  std::copy(values.begin(), values.end(), trained.data.get());
  const std::vector<float> want = {42,          0.479109555F, 1.53480518F,  2.8359375F,
                                   2.86406255F, 2.60903168F,  1.65318787F,  3.19565606F,
                                   4.453125F,   2.03606176F,  -0.204874799F};
  EXPECT_LE(MaxDifference(Values(ResizeGrid(trained, 2, 5)), want), 2e-6);
}

TEST(Position, StaysAsTrainedForPicturesOfAnyShape) {
  const SafetensorsFile file = ReadReference("pos_interpolation");
  Weights weights;
  const StoredTensor& stored = file.at(Cases(file)[0] + ".pos_embed");
  weights.Add("pos_embed", stored.shape, Floats(stored));
  weights.Add("temporal_pos_embedding", {1, 4, stored.shape[2]});
  BackboneConfig config;
  config.frames = 4;
  ASSERT_TRUE(FitPositions(config, false, &weights).ok());
  EXPECT_EQ(Values(weights.Get("pos_embed")), Floats(stored));
}

TEST(Position, RefusesAGridThatIsNotSquare) {
  Weights weights;
  weights.Add("pos_embed", {1, 1 + 6, 2});
  weights.Add("temporal_pos_embedding", {1, 4, 2});
  const absl::Status status = FitPositions(BackboneConfig(), true, &weights);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace scanline::testing
