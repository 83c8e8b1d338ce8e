#include "model/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/cuda/cuda_backbone.h"
#include "model/kernels/kernels.h"
#include "tests/model/bundle_folder.h"
#include "tests/model/noise_clip.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const ModelBundle> Load(const std::string& dir) {
  auto bundle = ModelBundle::Load(dir);
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  return *bundle;
}

std::shared_ptr<const ModelBundle> Default() {
  return Load(SCANLINE_SOURCE_DIR "/assets/models/tagger24");
}

std::unique_ptr<Predictor> Create(std::shared_ptr<const ModelBundle> bundle,
                                  const PredictorOptions& options = {}) {
  auto predictor = Predictor::Create(std::move(bundle), options);
  if (!predictor.ok()) throw std::runtime_error(predictor.status().ToString());
  return *std::move(predictor);
}

using Logits = std::vector<std::vector<float>>;

Logits PredictAlone(Predictor& predictor, const Clip& clip) {
  const Cancel cancel;
  const PredictItem item{&clip, &cancel};
  auto results = predictor.Predict({&item, 1});
  if (results.size() != 1 || !results[0].ok()) throw std::runtime_error("no prediction");
  return results[0]->logits;
}

TEST(Predictor, AClipHasTheSameBitsAloneAndInAnyBatch) {
  const auto bundle = Default();
  for (const std::string& kernel : KernelNames()) {
    if (!FindKernels(kernel)->runs_here()) continue;
    SCOPED_TRACE(kernel);
    const auto predictor = Create(bundle, {.kernel = kernel});
    std::vector<Clip> clips;
    for (unsigned i = 0; i < 4; ++i) {
      clips.push_back(NoiseClip(bundle->config(), 16 + 5 * static_cast<int>(i),
                                1 + static_cast<int>(i) % 3, i));
    }
    std::vector<Logits> alone;
    for (const Clip& clip : clips) alone.push_back(PredictAlone(*predictor, clip));

    const Cancel cancel;
    std::vector<size_t> order = {0, 1, 2, 3};
    do {
      std::vector<PredictItem> items;
      for (size_t i : order) items.push_back({&clips[i], &cancel});
      const auto results = predictor->Predict(items);
      ASSERT_EQ(results.size(), items.size());
      for (size_t k = 0; k < order.size(); ++k) {
        ASSERT_TRUE(results[k].ok());
        ASSERT_EQ(results[k]->logits, alone[order[k]]);
      }
    } while (kernel != "scalar" && std::next_permutation(order.begin(), order.end()));
    // Another worker's predictor, too.
    EXPECT_EQ(PredictAlone(*Create(bundle, {.kernel = kernel}), clips[2]), alone[2]);
  }
}

TEST(Predictor, SeveralThreadsGiveTheSameBits) {  // docs/operations.md
  const auto bundle = Default();
  const Clip clip = NoiseClip(bundle->config(), 16, 1, 5);
  for (const std::string& kernel : KernelNames()) {
    if (!FindKernels(kernel)->runs_here()) continue;
    for (const char* precision : {"fp32", "bf16"}) {
      const PredictorOptions options{.kernel = kernel, .precision = precision};
      if (!ResolveEngine(options).ok()) continue;
      const auto one = PredictAlone(*Create(bundle, options), clip);
      for (int threads : {2, 3, 4}) {
        SCOPED_TRACE(::testing::Message() << kernel << " " << precision << " " << threads);
        PredictorOptions several = options;
        several.threads = threads;
        EXPECT_EQ(PredictAlone(*Create(bundle, several), clip), one);
      }
    }
  }
}

TEST(Predictor, CountsTokensOfAllViewsWithoutCls) {
  const auto bundle = Default();
  const auto predictor = Create(bundle);
  const Clip clip = NoiseClip(bundle->config(), 16, 3, 1);
  const Cancel cancel;
  const PredictItem item{&clip, &cancel};
  const auto results = predictor->Predict({&item, 1});
  EXPECT_EQ(results[0]->tokens, 3 * 256);
  EXPECT_EQ(results[0]->logits.size(), 3u);
  EXPECT_EQ(results[0]->logits[0].size(), 24u);
}

TEST(Predictor, StopsBetweenTheViewsOfAnItemThatNobodyWaitsFor) {
  const auto bundle = Default();
  const auto predictor = Create(bundle);
  const Clip endless = NoiseClip(bundle->config(), 16, 100'000, 1);  // Minutes, if it went on.
  const Clip brief = NoiseClip(bundle->config(), 16, 1, 2);
  const Cancel soon(absl::Now() + absl::Milliseconds(30));
  const Cancel cancelled;
  cancelled.RequestCancel();
  const Cancel waiting;
  const PredictItem items[] = {{&endless, &soon}, {&endless, &cancelled}, {&brief, &waiting}};
  const absl::Time start = absl::Now();
  const auto results = predictor->Predict(items);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(ReasonOf(results[0].status()), Reason::kExpiredInInference);
  EXPECT_EQ(ReasonOf(results[1].status()), Reason::kCancelled);
  EXPECT_TRUE(results[2].ok()) << results[2].status();
}

TEST(Predictor, NonFiniteOutputIsAnErrorOfItsItemAlone) {
  SmallBundle small;
  for (float& weight : small.At("head.weight").values) weight = 3e38f;  // Finite, its sums are not.
  const auto bundle = Load(small.Write());
  const auto predictor = Create(bundle);
  const Clip clip = NoiseClip(bundle->config(), 2, 1, 1);
  const Cancel cancel;
  const PredictItem item{&clip, &cancel};
  const auto results = predictor->Predict({&item, 1});
  EXPECT_EQ(ReasonOf(results[0].status()), Reason::kNonFiniteOutput);
  EXPECT_THAT(results[0].status().message(), HasSubstr("expected finite"));
}

TEST(Predictor, RefusesAClipOfAnotherShape) {
  const auto bundle = Default();
  const auto predictor = Create(bundle);
  const Cancel cancel;
  Clip clips[3] = {NoiseClip(bundle->config(), 16, 1, 1), NoiseClip(bundle->config(), 16, 1, 1),
                   NoiseClip(bundle->config(), 16, 1, 1)};
  clips[0].width = 32;
  clips[1].views[0].pictures.pop_back();
  clips[2].views[0].pictures[5] = 16;
  for (const Clip& clip : clips) {
    const PredictItem item{&clip, &cancel};
    EXPECT_EQ(ReasonOf(predictor->Predict({&item, 1})[0].status()), Reason::kInternal);
  }
}

TEST(ResolveEngine, DecidesWhatWasLeftOpenAndRefusesWhatIsNotHere) {
  const auto reason = [](const PredictorOptions& options) {
    return ReasonOf(ResolveEngine(options).status());
  };
  EXPECT_EQ(ResolveEngine({.kernel = "scalar"})->kernel, "scalar");
  EXPECT_EQ(ResolveEngine({})->kernel, BestKernels().name);
  EXPECT_EQ(ResolveEngine({})->precision, "fp32");
  EXPECT_EQ(ResolveEngine({.threads = 3})->threads, 3);
  const auto unknown = ResolveEngine({.kernel = "abacus"});
  EXPECT_EQ(ReasonOf(unknown.status()), Reason::kFieldInvalid);
  EXPECT_THAT(unknown.status().message(), HasSubstr("scalar"));
  EXPECT_EQ(reason({.threads = 0}), Reason::kFieldInvalid);
  EXPECT_EQ(reason({.precision = "fp8"}), Reason::kFieldInvalid);
  EXPECT_EQ(reason({.kernel = "avx2", .precision = "bf16"}), Reason::kFieldInvalid);
  EXPECT_EQ(ReasonOf(Predictor::Create(Default(), {.threads = 0}).status()), Reason::kFieldInvalid);
}

// On a machine with a GPU, in a program with CUDA, the other branch is what holds.
TEST(ResolveEngine, TakesTheCpuWhereThereIsNoGpuAndSaysWhy) {
  const bool gpu = FindCuda().devices > 0;
  const auto engine = ResolveEngine({.device = "auto"});
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ(engine->device, gpu ? "cuda:0" : "cpu");
  EXPECT_EQ(engine->precision, gpu ? "bf16" : "fp32");
  EXPECT_EQ(engine->note.empty(), gpu);
  const auto named = ResolveEngine({.device = "cuda:0"});
  EXPECT_EQ(named.ok(), gpu);
  if (!gpu) {
    EXPECT_EQ(ReasonOf(named.status()), Reason::kFieldInvalid);
    EXPECT_THAT(named.status().message(), HasSubstr(engine->note));
  }
  EXPECT_EQ(ResolveEngine({.device = "cpu"})->device, "cpu");
  EXPECT_EQ(ReasonOf(ResolveEngine({.device = "tpu"}).status()), Reason::kFieldInvalid);
}

}  // namespace
}  // namespace scanline::testing
