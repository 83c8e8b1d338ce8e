#include "model/backbone.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/team.h"
#include "model/arena.h"
#include "model/patches.h"
#include "model/position.h"
#include "model/tensor_ops.h"
#include "tests/model/double_model.h"
#include "tests/model/generator.h"
#include "tests/model/kernels/kernels_here.h"
#include "tests/model/pooled.h"
#include "tests/model/reference.h"
#include "tests/model/small_model.h"
#include "tests/model/stored_model.h"

namespace scanline::testing {
namespace {

std::vector<float> Logits(const Weights& weights, absl::Span<const float> pooled) {
  std::vector<float> logits(weights.Get("head.bias").size());
  const auto width = static_cast<int64_t>(pooled.size());
  RunGemm({.x = pooled.data(),
           .rows = 1,
           .inner = width,
           .x_stride = width,
           .weight = weights.Data("head.weight"),
           .columns = static_cast<int64_t>(logits.size()),
           .bias = weights.Data("head.bias"),
           .out = logits.data()});
  return logits;
}

constexpr double kTolerance = 1e-5;  // model_*: tests/data/reference/README.md

class StoredModel : public ::testing::TestWithParam<std::string> {};

TEST_P(StoredModel, GivesTheSameTraceAndLogits) {
  const SafetensorsFile file = ReadReference(GetParam());
  const Weights weights = WeightsUnder(file, "model.");
  const BackboneConfig config = StoredConfig(file, weights);
  const auto& shape = file.at("input").shape;
  const size_t video = static_cast<size_t>(shape[1] * shape[2] * shape[3] * shape[4]);
  const auto rows = static_cast<size_t>(config.tokens()) * config.embed_dim;
  for (const Kernels* kernels : KernelsHere()) {
    Backbone backbone(config, weights, *kernels);
    for (size_t batch = 0; batch < static_cast<size_t>(shape[0]); ++batch) {
      SCOPED_TRACE(std::string(kernels->name) + " sequence " + std::to_string(batch));
      const auto want = [&](const std::string& name, size_t count) {
        return Part(Floats(file.at(name)), batch * count, count);
      };
      PatchesFromVideo(Floats(file.at("input")).data() + batch * video, config, backbone.patches());
      BackboneTrace trace;
      const auto pooled = RunPooled(backbone, &trace);
      if (file.has("trace.tokens")) {
        EXPECT_LE(RelMax(trace.tokens, want("trace.tokens", rows)), kTolerance);
      }
      for (int i = 0; i < config.depth; ++i) {
        const std::string layer = std::to_string(i);
        EXPECT_LE(RelMax(trace.hidden[i], want("trace.hidden" + layer, rows)), kTolerance) << i;
        EXPECT_LE(RelMax(trace.residual[i], want("trace.residual" + layer, rows)), kTolerance) << i;
      }
      EXPECT_LE(RelMax(pooled, want("pooled", pooled.size())), kTolerance);
      const auto logits = Logits(weights, pooled);
      EXPECT_LE(RelMax(logits, want("logits", logits.size())), kTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, StoredModel, ::testing::ValuesIn(StoredModels()),
                         [](const auto& info) { return info.param; });

TEST(Backbone, MatchesTheIntendedAndThePaperFormOfPro) {
  int outputs = 0;
  for (const std::string& name : ReferenceNames({"model_pro_"})) {
    const SafetensorsFile file = ReadReference(name);
    const Weights weights = WeightsUnder(file, "model.");
    for (const char* form : {"intended", "paper"}) {
      const std::string output = std::string("logits_") + form;
      if (!file.has(output)) continue;
      BackboneConfig config = StoredConfig(file, weights);
      config.mixer = *MixerPreset(std::string("videomambapro_") + form);
      const auto input = Floats(file.at("input"));
      const auto classes = static_cast<size_t>(file.at(output).shape[1]);
      const size_t video = input.size() / file.at("input").shape[0];
      for (const Kernels* kernels : KernelsHere()) {
        Backbone backbone(config, weights, *kernels);
        for (size_t batch = 0; batch * video < input.size(); ++batch) {
          PatchesFromVideo(input.data() + batch * video, config, backbone.patches());
          EXPECT_LE(RelMax(Logits(weights, RunPooled(backbone)),
                           Part(Floats(file.at(output)), batch * classes, classes)),
                    kTolerance)
              << name << " " << output << " " << kernels->name;
          ++outputs;
        }
      }
    }
  }
  EXPECT_GT(outputs, 0);
}

TEST(Backbone, RunsWithPositionsMadeForAnotherGridAndLength) {
  const SafetensorsFile file = ReadReference("model_vm_interpolated");
  Weights weights = WeightsUnder(file, "model.");
  const BackboneConfig config = StoredConfig(file, weights);
  ASSERT_TRUE(FitPositions(config, true, &weights).ok());
  const auto values = [&](const char* name) {
    const Tensor& tensor = weights.Get(name);
    return std::vector<float>(tensor.data.get(), tensor.data.get() + tensor.size());
  };
  EXPECT_LE(RelMax(values("pos_embed"), Floats(file.at("pos_embed_out"))), 2e-6);
  EXPECT_LE(RelMax(values("temporal_pos_embedding"), Floats(file.at("temporal_out"))), 2e-6);
  for (const Kernels* kernels : KernelsHere()) {
    Backbone backbone(config, weights, *kernels);
    PatchesFromVideo(Floats(file.at("input")).data(), config, backbone.patches());
    EXPECT_LE(RelMax(Logits(weights, RunPooled(backbone)), Floats(file.at("logits"))), kTolerance);
  }
}

std::vector<float> SmallVideo(const BackboneConfig& config) {
  return Generate("input", {1, 3, config.frames, config.size, config.size}, 11);
}

void ExpectLikeDouble(const BackboneConfig& config, const Weights& weights, double tolerance) {
  const auto video = SmallVideo(config);
  const Row want = DoubleModel(config, weights).Run(video);
  for (const Kernels* kernels : KernelsHere()) {
    Backbone backbone(config, weights, *kernels);
    PatchesFromVideo(video.data(), config, backbone.patches());
    const auto pooled = RunPooled(backbone);
    EXPECT_LE(RelMax(pooled, want), tolerance) << kernels->name;
  }
}

TEST(Backbone, EveryCombinationOfSwitchesMatchesTheDoubleReference) {
  ModelConfig model = SmallModel();
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE("switches " + std::to_string(bits));
    model.backbone.mixer = SwitchesOf(bits);
    ExpectLikeDouble(model.backbone, GenerateWeights(model, 5), kTolerance);
  }
}

TEST(Backbone, EveryScanOrderPoolAndNormMatchesTheDoubleReference) {
  ModelConfig model = SmallModel();
  BackboneConfig& config = model.backbone;
  for (ScanOrder order : kScanOrders) {
    for (PoolKind pool : kPools) {
      for (NormKind norm : {NormKind::kRms, NormKind::kLayer}) {
        for (int depth : {2, 3}) {  // Alternating ends in either order.
          config.scan_order = order;
          config.pool = pool;
          config.norm = norm;
          config.depth = depth;
          SCOPED_TRACE(::testing::Message() << "order " << int(order) << " pool " << int(pool)
                                            << " norm " << int(norm) << " depth " << depth);
          ExpectLikeDouble(config, GenerateWeights(model, 7), kTolerance);
        }
      }
    }
  }
}

TEST(Backbone, EveryKernelTakesOddWidthsStatesAndTaps) {
  ModelConfig model = SmallModel();
  model.backbone.embed_dim = 21;
  model.backbone.d_state = 5;
  model.backbone.d_conv = 3;
  ExpectLikeDouble(model.backbone, GenerateWeights(model, 9), kTolerance);
}

TEST(Backbone, LongOddSequencesMatchTheDoubleReference) {
  ModelConfig model = SmallModel();
  BackboneConfig& config = model.backbone;
  config.depth = 2;
  config.frames = 8;
  config.size = 128;
  config.scan_order = ScanOrder::kAlternating;
  config.pool = PoolKind::kClsPlusAvgDeltaMax;
  ASSERT_EQ(config.tokens(), 4097);
  for (const int state : {8, 16}) {
    config.d_state = state;
    ExpectLikeDouble(config, GenerateWeights(model, 15), kTolerance);
  }
}

// Token 0 is cls, which in the forward direction sees only itself: all of its context comes from
// the backward direction, and logits of random weights would look plausible without it.
TEST(Backbone, ClsSeesTheVideoThroughTheBackwardDirectionOnly) {
  ModelConfig model = SmallModel();
  model.backbone.depth = 1;
  const BackboneConfig& config = model.backbone;
  const auto features = [&](const Weights& weights, const std::vector<float>& video) {
    Backbone backbone(config, weights, BestKernels());
    PatchesFromVideo(video.data(), config, backbone.patches());
    return RunPooled(backbone);
  };
  auto video = SmallVideo(config);
  auto other = video;
  for (float& value : other) value = -value;

  Weights weights = GenerateWeights(model, 3);
  EXPECT_GT(RelMax(features(weights, video), features(weights, other)), 1e-3);

  const Tensor& x_proj_b = weights.Get("layers.0.mixer.x_proj_b.weight");
  std::fill_n(x_proj_b.data.get(), x_proj_b.size(), 0.0f);  // B = C = 0: nothing is read out,
  const Tensor& d_b = weights.Get("layers.0.mixer.D_b");
  std::fill_n(d_b.data.get(), d_b.size(), 0.0f);  // and nothing is passed by.
  EXPECT_EQ(features(weights, video), features(weights, other));
}

// The normalisation inside the patch embedding is that of the values themselves.
TEST(Backbone, PicturesReadAsTheirNormalisedValues) {
  ModelConfig model = SmallModel();
  const BackboneConfig& config = model.backbone;
  const Weights weights = GenerateWeights(model, 5);
  const PixelNorm norm{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  constexpr int kShown = 6;  // of the 8 rows and columns; the rest is padding
  const int side = config.size;
  std::vector<std::vector<uint8_t>> pictures;
  std::vector<float> video(static_cast<size_t>(3 * config.frames * side * side), 0.0F);
  uint32_t noise = 1;
  for (int frame = 0; frame < config.frames; ++frame) {
    std::vector<uint8_t> picture(static_cast<size_t>(side * side * 3));
    for (int i = 0; i < side * side * 3; ++i) {
      noise = noise * 1664525 + 1013904223;
      picture[i] = static_cast<uint8_t>(noise >> 24);
      const int channel = i % 3;
      const int at = i / 3;
      if (at / side >= kShown || at % side >= kShown) continue;
      video[(channel * config.frames + frame) * side * side + at] =
          (static_cast<float>(picture[i]) / 255 - norm.mean[channel]) / norm.std[channel];
    }
    pictures.push_back(std::move(picture));
  }
  std::vector<const uint8_t*> pointers;
  for (const auto& picture : pictures) pointers.push_back(picture.data());
  const Row want = DoubleModel(config, weights).Run(video);
  for (const Kernels* kernels : KernelsHere()) {
    Backbone backbone(config, weights, *kernels, {.pixels = norm});
    PatchesFromPictures(pointers, norm, config, backbone.pixel_patches(), {kShown, kShown});
    EXPECT_LE(RelMax(RunPooled(backbone), want), kTolerance) << kernels->name;
    PatchesFromVideo(video.data(), config, backbone.patches());
    EXPECT_LE(RelMax(RunPooled(backbone), want), kTolerance) << kernels->name;
  }
}

std::vector<float> VideoOf(const BackboneConfig& config, int height, int width) {
  return Generate("input", {1, 3, config.frames, height, width}, 11);
}

std::vector<float> RunShaped(Backbone& backbone, int height, int width) {
  backbone.Reshape(height, width);
  const auto video = VideoOf(backbone.config(), height, width);
  PatchesFromVideo(video.data(), backbone.config(), backbone.patches());
  return RunPooled(backbone);
}

TEST(Backbone, PicturesOfAnyShapeMatchTheDoubleReference) {
  ModelConfig model = SmallModel();
  model.backbone.pool = PoolKind::kClsPlusAvgDeltaMax;
  for (ScanOrder order : kScanOrders) {
    model.backbone.scan_order = order;
    const Weights weights = GenerateWeights(model, 5);
    for (const auto& [height, width] : {std::pair{8, 20}, {16, 4}, {12, 12}, {8, 8}}) {
      const BackboneConfig shaped = ForPictures(model.backbone, height, width);
      Weights fitted = GenerateWeights(model, 5);  // position_test compares these with torch's
      const Tensor space = ResizeGrid(weights.Get("pos_embed"), shaped.rows(), shaped.columns());
      fitted.Add("pos_embed", space.shape, {space.data.get(), static_cast<size_t>(space.size())});
      const Row want = DoubleModel(shaped, fitted).Run(VideoOf(shaped, height, width));
      for (const Kernels* kernels : KernelsHere()) {
        Backbone backbone(model.backbone, weights, *kernels);
        EXPECT_LE(RelMax(RunShaped(backbone, height, width), want), kTolerance)
            << kernels->name << " " << height << "x" << width << " order " << int(order);
      }
    }
  }
}

TEST(Backbone, AShapeHasTheSameBitsAfterAnyOthers) {
  ModelConfig model = SmallModel();
  const Weights weights = GenerateWeights(model, 5);
  Backbone fresh(model.backbone, weights, BestKernels());
  const auto alone = RunShaped(fresh, 8, 20);
  Backbone used(model.backbone, weights, BestKernels());
  for (int width = 4; width <= 4 * 24; width += 4) RunShaped(used, 12, width);  // Over the cache.
  EXPECT_EQ(RunShaped(used, 8, 20), alone);
  RunShaped(used, 4, 4);
  EXPECT_EQ(RunShaped(used, 8, 20), alone);
}

// Those of one worker: clips of 3 frames, stills, and the shapes of both, in one memory.
TEST(Backbone, PassesThatShareAnArenaHaveTheBitsOfTheirOwn) {
  const ModelConfig clips = SmallModel();
  ModelConfig stills = clips;
  stills.backbone.frames = 1;
  const Weights weights = GenerateWeights(clips, 5);
  Arena arena;
  Backbone clip(clips.backbone, weights, BestKernels(), {.arena = &arena});
  const size_t at_first = arena.floats();
  Backbone still(stills.backbone, weights, BestKernels(), {.arena = &arena});
  EXPECT_EQ(arena.floats(), at_first);
  for (const auto& [height, width] : {std::pair{8, 8}, {8, 20}, {4, 4}, {40, 44}, {8, 8}}) {
    Backbone own_clip(clips.backbone, weights, BestKernels());
    Backbone own_still(stills.backbone, weights, BestKernels());
    EXPECT_EQ(RunShaped(still, height, width), RunShaped(own_still, height, width));
    EXPECT_EQ(RunShaped(clip, height, width), RunShaped(own_clip, height, width));
    EXPECT_EQ(RunShaped(still, width, height), RunShaped(own_still, width, height));
  }
  const size_t largest = arena.floats();
  EXPECT_GT(largest, at_first);
  RunShaped(clip, 40, 44);
  RunShaped(still, 44, 40);
  EXPECT_EQ(arena.floats(), largest);
}

// What an arena holds before a pass decides nothing: a pass reads no value that it has not written.
class DirtyArena : public ::testing::Test {
 protected:
  // On a busy machine every meeting of threads costs a turn of the scheduler, so few do for much.
  void ThreadsAre(const std::vector<int>& sizes) {
    for (int size : sizes) teams_.push_back(std::make_unique<Team>(size));
  }

  // The pooled tokens of one pass after every float of the arena was `dirt`.
  static std::vector<float> RunAfter(float dirt, const std::vector<float>& video, Arena* arena,
                                     Backbone* backbone) {
    float* patches =
        backbone->patches();  // It may grow the arena, which the next pass finds grown.
    std::fill_n(arena->Reserve(1), arena->floats(), dirt);
    PatchesFromVideo(video.data(), backbone->config(), patches);
    return RunPooled(*backbone);
  }

  void ExpectTheSameBits(const ModelConfig& model) {
    const Weights weights = GenerateWeights(model, 5);
    const auto video = SmallVideo(model.backbone);
    for (const Kernels* kernels : KernelsHere()) {
      for (Precision precision : {Precision::kFp32, Precision::kBf16}) {
        if (precision == Precision::kBf16 && kernels->packed_linear_bf16 == nullptr) continue;
        for (const auto& team : teams_) {
          SCOPED_TRACE(::testing::Message() << kernels->name << " precision " << int(precision)
                                            << " threads " << team->size());
          Arena arena;
          Backbone backbone(model.backbone, weights, *kernels,
                            {.precision = precision, .team = team.get(), .arena = &arena});
          const auto clean = RunAfter(0, video, &arena, &backbone);
          for (float value : clean) ASSERT_TRUE(std::isfinite(value));
          EXPECT_EQ(RunAfter(NAN, video, &arena, &backbone), clean);
          EXPECT_EQ(RunAfter(-1e30F, video, &arena, &backbone), clean);  // A maximum drops NaN.
        }
      }
    }
  }

  std::vector<std::unique_ptr<Team>> teams_;
};

TEST_F(DirtyArena, ChangesNoBitOfAnyCombinationOfSwitches) {
  ThreadsAre({1});
  ModelConfig model = SmallModel();
  for (int bits = 0; bits < 64; ++bits) {
    SCOPED_TRACE("switches " + std::to_string(bits));
    model.backbone.mixer = SwitchesOf(bits);
    ExpectTheSameBits(model);
  }
}

TEST_F(DirtyArena, ChangesNoBitOfAnyOrderPoolAndLength) {
  ThreadsAre({2});
  ModelConfig model = SmallModel();
  BackboneConfig& config = model.backbone;
  for (ScanOrder order : kScanOrders) {
    for (PoolKind pool : kPools) {
      for (int size : {4, 20}) {  // 4 tokens and 76: less than a tile, and more
        config.scan_order = order;
        config.pool = pool;
        config.size = size;
        SCOPED_TRACE(::testing::Message()
                     << "order " << int(order) << " pool " << int(pool) << " size " << size);
        ExpectTheSameBits(model);
      }
    }
  }
}

TEST_F(DirtyArena, ChangesNoBitOfOddWidthsStatesAndTaps) {
  ThreadsAre({1, 2, 3, 4});
  ModelConfig model = SmallModel();
  model.backbone.embed_dim = 21;
  model.backbone.d_state = 5;
  model.backbone.d_conv = 3;
  ExpectTheSameBits(model);
}

TEST(PatchTokens, CountsWithoutCls) {
  BackboneConfig config = SmallModel().backbone;
  EXPECT_EQ(PatchTokens(config, 8, 20), 3 * 2 * 5);
  EXPECT_EQ(PatchTokens(config, config.size, config.size), config.tokens() - 1);
}

TEST(Backbone, SecondRunHasTheSameBits) {
  ModelConfig model = SmallModel();
  model.backbone.scan_order = ScanOrder::kAlternating;
  const Weights weights = GenerateWeights(model, 4);
  const auto video = SmallVideo(model.backbone);
  Backbone backbone(model.backbone, weights, BestKernels());
  std::vector<float> first;
  for (int i = 0; i < 3; ++i) {
    PatchesFromVideo(video.data(), model.backbone, backbone.patches());
    const auto pooled = RunPooled(backbone);
    if (i == 0) first = pooled;
    EXPECT_EQ(pooled, first);
  }
}

}  // namespace
}  // namespace scanline::testing
