// Memory that runs out in the middle of what a worker does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "base/error.h"
#include "model/backbone.h"
#include "model/patches.h"
#include "model/predictor.h"
#include "tests/model/generator.h"
#include "tests/model/multimodal.h"
#include "tests/model/noise_clip.h"
#include "tests/model/pooled.h"
#include "tests/model/small_model.h"

namespace {
thread_local int allocations_left = -1;  // of this thread, then one fails; negative: none will
}  // namespace

// The compiler takes a free of what new gave for a mistake where it sees both.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  if (allocations_left >= 0 && --allocations_left < 0) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace scanline::testing {
namespace {

std::vector<float> RunWhole(Backbone& backbone) {
  const BackboneConfig& config = backbone.config();
  const int height = config.rows() * config.patch;
  const int width = config.columns() * config.patch;
  const auto video = Generate("input", {1, 3, config.frames, height, width}, 11);
  PatchesFromVideo(video.data(), config, backbone.patches());
  return RunPooled(backbone);
}

// Whether Reshape went through with so many allocations.
bool ReshapesWith(int allocations, int height, int width, Backbone* backbone) {
  allocations_left = allocations;
  bool done = true;
  try {
    backbone->Reshape(height, width);
  } catch (const std::bad_alloc&) {
    done = false;
  }
  allocations_left = -1;
  return done;
}

TEST(Backbone, AReshapeThatFindsNoMemoryLeavesTheOldShape) {
  const ModelConfig model = SmallModel();
  const Weights weights = GenerateWeights(model, 5);
  Backbone fresh(model.backbone, weights, BestKernels());
  const auto small = RunWhole(fresh);
  fresh.Reshape(40, 44);
  const auto large = RunWhole(fresh);
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    SCOPED_TRACE(::testing::Message() << failures << " allocations");
    ASSERT_LT(failures, 1000);
    Backbone backbone(model.backbone, weights, BestKernels());
    done = ReshapesWith(failures, 40, 44, &backbone);
    ASSERT_EQ(backbone.config().rows(), done ? 10 : 2);
    EXPECT_EQ(RunWhole(backbone), done ? large : small);
    backbone.Reshape(40, 44);
    EXPECT_EQ(RunWhole(backbone), large);
    backbone.Reshape(8, 8);
    EXPECT_EQ(RunWhole(backbone), small);
  }
  EXPECT_GT(failures, 3);
}

// Clips, stills and texts of one worker, in one memory.
TEST(Predictor, AnAllocationThatFailsCostsOneAnswerAndNoBitOfTheNext) {
  const SafetensorsFile file = ReadReference("mm_cls_avg_temporal");
  const TempFolder folder;
  const auto bundle = *ModelBundle::Load(WriteMultimodalBundle(file, folder));
  const auto predictor = *Predictor::Create(bundle, {});
  const ModelConfig& config = bundle->config();
  Clip clip = NoiseClip(config, 9, 2, 3);
  std::fill(clip.views[1].pictures.begin(), clip.views[1].pictures.end(), 2);
  const std::vector<std::string> texts = {TextOf(file, 0), TextOf(file, 1)};
  const Cancel cancel;
  const PredictItem item{
      &clip, &cancel, {.classify = false, .match = true, .rerank = true}, &texts};
  const auto run = [&] { return std::move(predictor->Predict({&item, 1})[0]); };
  const auto want = run();
  ASSERT_TRUE(want.ok()) << want.status();
  int failures = 0;
  for (int allocations = 1;; ++allocations) {  // The first is that of the results.
    allocations_left = allocations;
    const auto got = run();
    const bool reached = allocations_left < 0;
    allocations_left = -1;
    if (!reached) break;
    if (got.ok()) continue;  // Torch's own, which it does without.
    ++failures;
    ASSERT_EQ(ReasonOf(got.status()), Reason::kDeviceMemory) << got.status();
    const auto again = run();
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->embeddings, want->embeddings) << allocations;
    ASSERT_EQ(again->match_logits, want->match_logits) << allocations;
  }
  EXPECT_GT(failures, 50);
}

}  // namespace
}  // namespace scanline::testing
