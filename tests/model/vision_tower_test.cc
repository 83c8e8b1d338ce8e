#include "model/vision_tower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "tests/model/generator.h"
#include "tests/model/noise_clip.h"

// How views reach a GPU: which are run together, and that each gets its own answer. The GPU is
// played by the CPU's backbone, a view at a time.

namespace scanline::testing {
namespace {

ModelConfig SmallModel() {
  ModelConfig model;
  BackboneConfig& config = model.backbone;
  config.embed_dim = 16;
  config.depth = 1;
  config.d_state = 8;
  config.dt_rank = 1;
  config.patch = 4;
  config.frames = 2;
  config.size = 8;
  config.still_as_image = true;
  model.mean = {0.5F, 0.4F, 0.3F};
  model.std = {0.25F, 0.2F, 0.3F};
  model.classify.labels = {"a", "b", "c"};
  model.frame_spec.size = 8;
  return model;
}

class PlayedGpu : public CudaBackbone {
 public:
  PlayedGpu(const ModelConfig& config, const Weights& weights, std::vector<int>* batches)
      : pixels_{config.mean, config.std}, weights_(weights), batches_(batches) {}

  absl::Status Run(absl::Span<const ViewInput> views, const BackboneConfig& shape, bool all_tokens,
                   float* normed) override {
    batches_->push_back(static_cast<int>(views.size()));
    if (fail) return MakeError(Reason::kDeviceLost, "gone");
    Backbone backbone(shape, weights_, BestKernels(), {.pixels = pixels_});
    for (const ViewInput& view : views) {
      if (view.video != nullptr) {
        PatchesFromVideo(view.video, shape, backbone.patches());
      } else {
        PatchesFromPictures(view.pictures, pixels_, shape, backbone.pixel_patches(), view.area);
      }
      const auto rows = all_tokens ? Backbone::Rows::kAll : Backbone::Rows::kCls;
      const float* from = backbone.Run(rows);
      normed = std::copy_n(from, (all_tokens ? shape.tokens() : 1) * shape.embed_dim, normed);
    }
    return absl::OkStatus();
  }
  std::string name() const override { return "played"; }

  bool fail = false;

 private:
  PixelNorm pixels_;
  const Weights& weights_;
  std::vector<int>* batches_;
};

class VisionTowerOnGpu : public ::testing::Test {
 protected:
  VisionTowerOnGpu() : config(SmallModel()), weights(GenerateWeights(config, 3)) {
    auto played = std::make_unique<PlayedGpu>(config, weights, &batches);
    gpu_played = played.get();
    gpu.emplace(config, weights, BestKernels(), PassOptions{}, std::move(played));
    cpu.emplace(config, weights, BestKernels());
  }

  void ExpectSameAnswer(const Clip& clip, const View& view, bool patches) {
    ASSERT_TRUE(cpu->See(clip, view, patches).ok());
    ASSERT_TRUE(gpu->See(clip, view, patches).ok());
    EXPECT_EQ(gpu->Logits(), cpu->Logits());
    if (!patches) return;
    ASSERT_EQ(gpu->patch_count(), cpu->patch_count());
    const int values = cpu->patch_count() * config.backbone.embed_dim;
    EXPECT_TRUE(std::equal(gpu->patch_tokens(), gpu->patch_tokens() + values, cpu->patch_tokens()));
  }

  static std::vector<Sight> All(const Clip& clip, bool patches = false) {
    std::vector<Sight> sights;
    for (const View& view : clip.views) sights.push_back({&clip, &view, patches});
    return sights;
  }

  ModelConfig config;
  Weights weights;
  std::vector<int> batches;  // views of each
  PlayedGpu* gpu_played = nullptr;
  std::optional<VisionTower> gpu;
  std::optional<VisionTower> cpu;
};

TEST_F(VisionTowerOnGpu, RunsExpectedViewsAtOnce) {
  const Clip clip = NoiseClip(config, 9, 7, 1);
  gpu->Expect(All(clip));
  for (const View& view : clip.views) ExpectSameAnswer(clip, view, false);
  EXPECT_EQ(batches, std::vector<int>{7});
}

TEST_F(VisionTowerOnGpu, RunsAViewThatWasNotExpectedAlone) {
  const Clip clip = NoiseClip(config, 9, 2, 1);
  for (const View& view : clip.views) ExpectSameAnswer(clip, view, false);
  EXPECT_EQ(batches, (std::vector<int>{1, 1}));
}

TEST_F(VisionTowerOnGpu, SkipsWhatIsNotSeenAfterAll) {
  const Clip clip = NoiseClip(config, 9, 6, 1);
  gpu->Expect(All(clip));
  for (size_t v : {1, 4, 5}) ExpectSameAnswer(clip, clip.views[v], false);
  EXPECT_EQ(batches, std::vector<int>{5});
}

TEST_F(VisionTowerOnGpu, GroupsByShapeAndRows) {
  Clip clip = NoiseClip(config, 9, 6, 1);
  clip.views[2].pictures = {3, 3};  // a still image: another shape
  std::vector<Sight> sights = All(clip);
  sights[4].patches = true;  // all tokens instead of cls
  gpu->Expect(sights);
  for (size_t v = 0; v < 6; ++v) ExpectSameAnswer(clip, clip.views[v], v == 4);
  EXPECT_EQ(batches, (std::vector<int>{4, 1, 1}));
}

TEST_F(VisionTowerOnGpu, SeesTheSameViewTwice) {
  const Clip clip = NoiseClip(config, 9, 2, 1);
  std::vector<Sight> sights = All(clip);
  for (const Sight& again : All(clip, /*patches=*/true)) sights.push_back(again);
  gpu->Expect(sights);
  for (const Sight& sight : sights) ExpectSameAnswer(clip, *sight.view, sight.patches);
  EXPECT_EQ(batches, (std::vector<int>{2, 2}));
}

TEST_F(VisionTowerOnGpu, DoesNotRunForWhoHasGone) {
  const Clip clip = NoiseClip(config, 9, 3, 1);
  const Clip other = NoiseClip(config, 9, 2, 2);
  Cancel gone;
  gone.RequestCancel();
  std::vector<Sight> sights = All(clip);
  for (Sight sight : All(other)) {
    sight.cancel = &gone;
    sights.push_back(sight);
  }
  gpu->Expect(sights);
  for (const View& view : clip.views) ExpectSameAnswer(clip, view, false);
  EXPECT_EQ(batches, std::vector<int>{3});
}

TEST_F(VisionTowerOnGpu, TellsTheDevicesErrorForEveryViewOfTheBatch) {
  const Clip clip = NoiseClip(config, 9, 3, 1);
  gpu->Expect(All(clip));
  gpu_played->fail = true;
  for (const View& view : clip.views) {
    EXPECT_EQ(ReasonOf(gpu->See(clip, view, false)), Reason::kDeviceLost);
  }
}

TEST_F(VisionTowerOnGpu, ALargeBatchIsCutAtTheLargestGraph) {
  const Clip clip = NoiseClip(config, 9, 100, 1);
  gpu->Expect(All(clip));
  for (const View& view : clip.views) ExpectSameAnswer(clip, view, false);
  EXPECT_EQ(batches, (std::vector<int>{64, 36}));
}

}  // namespace
}  // namespace scanline::testing
