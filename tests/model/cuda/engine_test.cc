// The engine's own code on a CUDA that is played (played_cuda.h): streams, events, graphs, memory
// and errors, with the kernels under the SIMT shim and cuBLASLt as cublasLt.h describes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "model/backbone.h"
#include "model/cuda/cuda_backbone.h"
#include "model/patches.h"
#include "tests/model/cuda/played_cuda.h"
#include "tests/model/generator.h"
#include "tests/model/reference.h"
#include "tests/model/small_model.h"

namespace scanline::cuda {
namespace {

using namespace ::scanline::testing;
using ::testing::IsEmpty;

PlayedCuda& Played() { return PlayedCuda::Get(); }

ModelConfig Model() {
  ModelConfig model = SmallModel();
  model.mean = {0.485F, 0.456F, 0.406F};
  model.std = {0.229F, 0.224F, 0.225F};
  return model;
}

// Views of noise.
class Views {
 public:
  Views(const BackboneConfig& config, int count) {
    const size_t picture =
        size_t{3} * config.rows() * config.columns() * config.patch * config.patch;
    pixels_.resize(picture * (config.frames + count));
    for (size_t i = 0; i < pixels_.size(); ++i) {
      pixels_[i] = static_cast<uint8_t>(i * 37 + i / 13 + i / 101);
    }
    for (int v = 0; v < count; ++v) {
      ViewInput view;
      for (int i = 0; i < config.frames; ++i) view.pictures.push_back(&pixels_[(v + i) * picture]);
      if (v % 2 == 1) view.area = {5, 7};
      inputs.push_back(std::move(view));
    }
  }
  std::vector<ViewInput> inputs;

 private:
  std::vector<uint8_t> pixels_;
};

class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("SCANLINE_CUBLASLT", SCANLINE_PLAYED_CUBLASLT, 1); }
  void SetUp() override { Played().Reset(1); }
  void TearDown() override {
    EXPECT_THAT(Played().faults, IsEmpty());
    engine_.reset();
    EXPECT_EQ(Played().alive(), 0);
    EXPECT_THAT(Played().faults, IsEmpty());
  }

  void Open(Element type = Element::kFloat32) {
    auto made = CudaBackbone::Create(PlayedCuda::kDevice, model_, weights_, type);
    ASSERT_TRUE(made.ok()) << made.status();
    engine_ = std::move(*made);
  }

  absl::StatusOr<std::vector<float>> Run(const std::vector<ViewInput>& views, bool all_tokens,
                                         const BackboneConfig& shape) {
    const size_t rows = all_tokens ? shape.tokens() : 1;
    std::vector<float> normed(views.size() * rows * shape.embed_dim, NAN);
    const absl::Status status = engine_->Run(views, shape, all_tokens, normed.data());
    if (!status.ok()) return status;
    return normed;
  }
  absl::StatusOr<std::vector<float>> Run(int views, bool all_tokens = false) {
    return Run(Views(config_, views).inputs, all_tokens, config_);
  }

  // What the CPU engine gives.
  std::vector<float> Want(int views, bool all_tokens, const BackboneConfig& shape) {
    const PixelNorm norm = {model_.mean, model_.std};
    Backbone backbone(config_, weights_, BestKernels(), {.pixels = norm});
    backbone.Reshape(shape.rows() * shape.patch, shape.columns() * shape.patch);
    std::vector<float> want;
    const Views given(shape, views);
    for (const ViewInput& view : given.inputs) {
      const bool whole = view.area.width == 0;
      PatchesFromPictures(
          view.pictures, {model_.mean, model_.std}, shape, backbone.pixel_patches(),
          whole ? PictureArea{shape.columns() * shape.patch, shape.rows() * shape.patch}
                : view.area);
      const float* normed = backbone.Run(Backbone::Rows::kAll);
      want.insert(want.end(), normed, normed + (all_tokens ? shape.tokens() : 1) * shape.embed_dim);
    }
    return want;
  }
  void ExpectRight(int views, bool all_tokens = false) {
    const auto got = Run(views, all_tokens);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_LE(RelMax(*got, Want(views, all_tokens, config_)), 2e-5) << views << " views";
  }

  ModelConfig model_ = Model();
  const BackboneConfig& config_ = model_.backbone;
  Weights weights_ = GenerateWeights(model_, 5);
  std::unique_ptr<CudaBackbone> engine_;
};

TEST_F(EngineTest, FindsWhatCanBeUsed) {
  const CudaSystem system = FindCuda();
  EXPECT_EQ(system.devices, 2);
  EXPECT_EQ(system.unusable, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(ChooseDevice("auto", system)->cuda, 0);
}

TEST_F(EngineTest, EveryBatchIsRightInEveryOrderOfTheStreams) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Played().Reset(seed);
    Open();
    for (int views : {1, 1, 5, 1, 5, 5, 2}) ExpectRight(views, views == 2);
    EXPECT_GT(Played().calls["cudaGraphLaunch"], 0);
    engine_.reset();
  }
}

// Parts of one view, so that both slots are in use and each is used again.
TEST_F(EngineTest, PartsOverlapAndSlotsAreUsedAgain) {
  Open();
  Played().Fail("cudaGraphInstantiate", 2);
  ExpectRight(1);
  ExpectRight(2);
  const std::vector<float> once = *Run(7, true);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Played().Reseed(seed);
    ExpectRight(7, true);
    EXPECT_EQ(*Run(7, true), once);
  }
}

TEST_F(EngineTest, ValuesAndOtherShapesAreRight) {
  const BackboneConfig wide = ForPictures(config_, 12, 16);
  const BackboneConfig narrow = ForPictures(config_, 8, 4);
  for (uint64_t seed = 0; seed < 18; ++seed) {
    if (seed % 3 == 0) {
      engine_.reset();
      Played().Reset(seed);
      Open();
    }
    for (const BackboneConfig& shape : {config_, wide, narrow}) {
      const int height = shape.rows() * shape.patch;
      const int width = shape.columns() * shape.patch;
      const std::vector<float> video = Generate("input", {1, 3, shape.frames, height, width}, 4);
      Backbone backbone(config_, weights_, BestKernels());
      backbone.Reshape(height, width);
      PatchesFromVideo(video.data(), shape, backbone.patches());
      const float* want = backbone.Run(Backbone::Rows::kAll);
      const auto got = Run({{.video = video.data()}}, true, shape);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_LE(RelMax(*got, std::vector<float>(want, want + got->size())), 2e-5);
      const auto pictures = Run(Views(shape, 3).inputs, false, shape);
      ASSERT_TRUE(pictures.ok()) << pictures.status();
      EXPECT_LE(RelMax(*pictures, Want(3, false, shape)), 2e-5);
    }
  }
}

TEST_F(EngineTest, AViewHasTheSameBitsInEveryBatchAndType) {
  for (Element type : {Element::kFloat32, Element::kBfloat16}) {
    Open(type);
    const std::vector<float> alone = *Run(1);
    for (int views : {1, 1, 3, 8, 8, 8, 11}) {
      const std::vector<float> got = *Run(views);
      EXPECT_EQ(std::memcmp(got.data(), alone.data(), alone.size() * sizeof(float)), 0) << views;
    }
  }
}

TEST_F(EngineTest, RunsInAnotherThreadThanItWasMadeIn) {
  Open();
  for (int i = 0; i < 3; ++i) std::thread([&] { ExpectRight(2); }).join();
}

TEST_F(EngineTest, FewerViewsAtOnceWhenMemoryRunsOut) {
  Open();
  ExpectRight(1);
  const size_t one = Played().bytes_in_use();
  ExpectRight(4);
  const size_t four = Played().bytes_in_use();
  engine_.reset();

  Open();
  ExpectRight(1);
  Played().memory = four;
  ExpectRight(8);
  EXPECT_LE(Played().bytes_in_use(), four);
  ExpectRight(8);
  engine_.reset();

  Played().memory = SIZE_MAX;
  Open();
  Played().memory = Played().bytes_in_use() + (one - Played().bytes_in_use()) / 2;
  EXPECT_EQ(ReasonOf(Run(3).status()), Reason::kDeviceMemory);
  Played().memory = SIZE_MAX;
  ExpectRight(3);
}

// Whatever call finds no memory, in whichever round.
TEST_F(EngineTest, GoesOnWhereverMemoryRunsOut) {
  for (const char* call : {"cudaMalloc", "cudaMallocHost", "cudaGraphInstantiate", "Launch",
                           "cudaGraphLaunch", "cudaStreamBeginCapture"}) {
    for (int before = 0; before < 3; ++before) {
      SCOPED_TRACE(::testing::Message() << call << " after " << before);
      Played().Reset(3 + before);
      Open();
      for (int i = 0; i < before; ++i) ExpectRight(5);
      Played().Fail(call, 2);
      for (int i = 0; i < 3; ++i) ExpectRight(7, i == 1);
      engine_.reset();
    }
  }
}

// Room for a new shape is found where buffers have it, and the error does not come back.
TEST_F(EngineTest, ANewShapeFindsRoom) {
  Open();
  ExpectRight(8);
  Played().Fail("cudaMalloc", 2);
  const BackboneConfig wide = ForPictures(config_, 12, 16);
  const auto got = Run(Views(wide, 1).inputs, false, wide);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_LE(RelMax(*got, Want(1, false, wide)), 2e-5);
}

TEST_F(EngineTest, GoesOnAfterHostMemoryRanOut) {
  for (int round = 0; round < 4; ++round) {
    Played().Reset(9 + round);
    Open();
    Played().Fail("cudaGraphInstantiate", 2);
    ExpectRight(2);
    ExpectRight(2);
    Views views(config_, 5);
    std::vector<float> normed(5 * config_.embed_dim);
    // In the second part, while the first one runs.
    Played().Fail("cudaMemcpyAsync", PlayedCuda::kThrow, /*after=*/2 + round);
    EXPECT_THROW(static_cast<void>(engine_->Run(views.inputs, config_, false, normed.data())),
                 std::bad_alloc);
    ExpectRight(2 + round, true);
    ExpectRight(5, true);
    engine_.reset();
  }
}

TEST_F(EngineTest, GoesOnAfterHostMemoryRanOutInACapture) {
  Open();
  ExpectRight(2);
  Played().Fail("Launch", PlayedCuda::kThrow, /*after=*/4);  // of the graph's
  EXPECT_THROW(static_cast<void>(Run(2)), std::bad_alloc);
  EXPECT_EQ(Played().calls["cudaStreamBeginCapture"], 1);
  ExpectRight(2);
  ExpectRight(2);
}

TEST_F(EngineTest, AFailedCallIsToldOnceAndTheNextBatchIsRight) {
  Open();
  for (const char* call : {"Launch", "Matmul", "cudaGraphInstantiate", "cudaGraphLaunch",
                           "cudaMemcpyAsync", "cudaEventRecord"}) {
    for (int round = 0; round < 2; ++round) {
      engine_.reset();
      Played().Reset(5);
      Open();
      for (int i = 0; i < round; ++i) ExpectRight(3);
      Played().Fail(call, 1);
      bool failed = false;
      for (int i = 0; i < 3 && !failed; ++i) {
        const auto got = Run(3);
        failed = !got.ok();
        if (failed) {
          EXPECT_EQ(ReasonOf(got.status()), Reason::kInternal) << call << got.status();
        }
      }
      EXPECT_TRUE(failed) << call;
      ExpectRight(3);
      ExpectRight(3);
    }
  }
}

TEST_F(EngineTest, ALostDeviceIsToldFromThenOn) {
  for (int warm : {0, 1, 2}) {
    Played().Reset(7);
    Open();
    for (int i = 0; i < warm; ++i) ExpectRight(3);
    Played().Lose(700);
    EXPECT_EQ(ReasonOf(Run(3).status()), Reason::kDeviceLost);
    const int calls = Played().calls["cudaMemcpyAsync"];
    EXPECT_EQ(ReasonOf(Run(3).status()), Reason::kDeviceLost);
    EXPECT_EQ(Played().calls["cudaMemcpyAsync"], calls) << "a lost device was asked again";
    engine_.reset();
  }
}

// cuBLASLt notices first, and says only that an execution failed.
TEST_F(EngineTest, ALostDeviceIsNamedWhoeverNotices) {
  Open();
  ExpectRight(1);
  Played().LoseAt("Matmul", 719);
  EXPECT_EQ(ReasonOf(Run(4).status()), Reason::kDeviceLost);
}

TEST_F(EngineTest, SaysThatItWasBuiltForOtherGpus) {
  Played().launch_error = 209;
  const auto made = CudaBackbone::Create(PlayedCuda::kDevice, model_, weights_, Element::kBfloat16);
  EXPECT_EQ(ReasonOf(made.status()), Reason::kFieldInvalid);
  EXPECT_THAT(std::string(made.status().message()), ::testing::HasSubstr("9.0"));
}

}  // namespace
}  // namespace scanline::cuda
