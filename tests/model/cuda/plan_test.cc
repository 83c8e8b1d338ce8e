#include "model/cuda/plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

// The decisions of the CUDA engine, without a GPU: a device that fails is played by FakeDevice.

namespace scanline::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NextPart, CoversEveryBatchWithFewPaddingViews) {
  for (int most : kBuckets) {
    for (int views = 1; views <= 200; ++views) {
      int next = 0;
      while (next < views) {
        const Part part = NextPart(next, views, most);
        EXPECT_EQ(part.first, next);
        EXPECT_NE(std::count(kBuckets.begin(), kBuckets.end(), part.bucket), 0);
        EXPECT_LE(part.bucket, most);
        EXPECT_GE(part.count, 1);
        EXPECT_LE(part.count, part.bucket);
        EXPECT_LE(4 * (part.bucket - part.count), part.bucket) << views << " at most " << most;
        next += part.count;
      }
      EXPECT_EQ(next, views);
    }
  }
}

TEST(NextPart, PadsAQuarterAtMost) {
  EXPECT_EQ(NextPart(0, 3, 64).bucket, 4);
  EXPECT_EQ(NextPart(0, 5, 64).bucket, 4);
  EXPECT_EQ(NextPart(0, 6, 64).bucket, 8);
  EXPECT_EQ(NextPart(0, 48, 64).bucket, 64);
  EXPECT_EQ(NextPart(0, 47, 64).bucket, 32);
  EXPECT_EQ(NextPart(64, 65, 64).bucket, 1);
}

TEST(TokenCap, IsHalvedForAllShapes) {
  TokenCap cap;
  EXPECT_EQ(cap.MostViews(1569), 64);
  EXPECT_TRUE(cap.Halve(64, 1569));
  EXPECT_EQ(cap.MostViews(1569), 32);
  EXPECT_EQ(cap.MostViews(12545), 4);  // an eighth of the tokens that fit
  EXPECT_EQ(cap.MostViews(197), 64);
  EXPECT_TRUE(cap.Halve(2, 12545));
  EXPECT_EQ(cap.MostViews(12545), 1);
  EXPECT_EQ(cap.MostViews(1569), 4);
}

TEST(TokenCap, NeverGrowsAgain) {
  TokenCap cap;
  EXPECT_TRUE(cap.Halve(4, 1569));
  EXPECT_TRUE(cap.Halve(64, 1569));
  EXPECT_EQ(cap.MostViews(1569), 2);
}

TEST(TokenCap, CannotHelpOneView) {
  TokenCap cap;
  EXPECT_FALSE(cap.Halve(1, 12545));
  EXPECT_EQ(cap.MostViews(12545), 64);
}

// Answers view v with v + 1, if the memory holds the pass and nothing else was asked for.
class FakeDevice : public PartRunner {
 public:
  FakeDevice(int views, int fits) : answers(views, 0), fits_(fits) {}

  absl::Status Start(const Part& part, int slot) override {
    EXPECT_EQ(busy_.count(slot), 0u) << "a slot is used by two parts";
    started.push_back(part.bucket);
    if (start_error.count(static_cast<int>(started.size())) != 0) {
      return start_error.at(static_cast<int>(started.size()));
    }
    if (part.bucket > fits_) return OutOfMemory();
    busy_[slot] = part;
    order_.push_back(slot);
    return absl::OkStatus();
  }

  absl::Status Finish(const Part& part, int slot) override {
    EXPECT_EQ(order_.front(), slot) << "parts end in the order in which they began";
    EXPECT_EQ(busy_.at(slot).first, part.first);
    order_.pop_front();
    busy_.erase(slot);
    ++finished;
    most_at_once = std::max(most_at_once, static_cast<int>(busy_.size()) + 1);
    if (finish_error.count(finished) != 0) return finish_error.at(finished);
    for (int i = 0; i < part.count; ++i) answers[part.first + i] = part.first + i + 1;
    return absl::OkStatus();
  }

  static absl::Status OutOfMemory() { return MakeError(Reason::kDeviceMemory, "no memory"); }
  static absl::Status Lost() { return MakeError(Reason::kDeviceLost, "gone"); }
  bool idle() const { return busy_.empty(); }
  bool all_answered() const {
    for (size_t v = 0; v < answers.size(); ++v) {
      if (answers[v] != static_cast<int>(v) + 1) return false;
    }
    return true;
  }

  std::vector<int> answers;
  std::vector<int> started;                  // buckets
  std::map<int, absl::Status> start_error;   // by the number of the call, from 1
  std::map<int, absl::Status> finish_error;  // likewise
  int finished = 0;
  int most_at_once = 0;

 private:
  int fits_;
  std::map<int, Part> busy_;
  std::deque<int> order_;
};

TEST(RunInParts, AnswersEveryViewAndOverlapsParts) {
  FakeDevice device(/*views=*/150, /*fits=*/64);
  TokenCap cap;
  EXPECT_TRUE(RunInParts(150, 1569, &cap, &device).ok());
  EXPECT_TRUE(device.all_answered());
  EXPECT_THAT(device.started, ElementsAre(64, 64, 16, 8));
  EXPECT_EQ(device.most_at_once, kSlots);
  EXPECT_TRUE(device.idle());
}

TEST(RunInParts, SplitsWhenMemoryRunsOutAndRemembers) {
  FakeDevice device(/*views=*/64, /*fits=*/16);
  TokenCap cap;
  EXPECT_TRUE(RunInParts(64, 1569, &cap, &device).ok());
  EXPECT_TRUE(device.all_answered());
  EXPECT_THAT(device.started, ElementsAre(64, 32, 16, 16, 16, 16));
  device.started.clear();
  EXPECT_TRUE(RunInParts(64, 1569, &cap, &device).ok());
  EXPECT_THAT(device.started, ElementsAre(16, 16, 16, 16));
}

TEST(RunInParts, LosesNoAnswerWhenMemoryRunsOutLate) {
  for (int call = 1; call <= 4; ++call) {
    FakeDevice device(/*views=*/150, /*fits=*/64);
    device.finish_error = {{call, FakeDevice::OutOfMemory()}};
    TokenCap cap;
    EXPECT_TRUE(RunInParts(150, 1569, &cap, &device).ok());
    EXPECT_TRUE(device.all_answered()) << "failed at " << call;
    EXPECT_TRUE(device.idle());
    EXPECT_LT(cap.MostViews(1569), 64);
  }
}

TEST(RunInParts, LosesNoAnswerWhenTwoPartsFindNoMemory) {
  FakeDevice device(/*views=*/150, /*fits=*/64);
  device.start_error = {{2, FakeDevice::OutOfMemory()}};
  device.finish_error = {{1, FakeDevice::OutOfMemory()}};
  TokenCap cap;
  EXPECT_TRUE(RunInParts(150, 1569, &cap, &device).ok());
  EXPECT_TRUE(device.all_answered());
  EXPECT_TRUE(device.idle());
}

TEST(RunInParts, SaysSoWhenOneViewAloneDoesNotFit) {
  FakeDevice device(/*views=*/5, /*fits=*/0);
  TokenCap cap;
  const absl::Status status = RunInParts(5, 12545, &cap, &device);
  EXPECT_EQ(ReasonOf(status), Reason::kDeviceMemory);
  EXPECT_THAT(device.started, ElementsAre(4, 2, 1));
  EXPECT_TRUE(device.idle());
}

TEST(RunInParts, EndsAtALostDeviceAfterWhatRuns) {
  for (const bool at_start : {true, false}) {
    FakeDevice device(/*views=*/150, /*fits=*/64);
    auto& errors = at_start ? device.start_error : device.finish_error;
    errors.emplace(2, FakeDevice::Lost());
    TokenCap cap;
    const absl::Status status = RunInParts(150, 1569, &cap, &device);
    EXPECT_EQ(ReasonOf(status), Reason::kDeviceLost) << status;
    EXPECT_TRUE(device.idle()) << "buffers in use were left behind";
    EXPECT_EQ(cap.MostViews(1569), 64);
  }
}

TEST(RunInParts, AnEmptyBatchAsksNothing) {
  FakeDevice device(0, 64);
  TokenCap cap;
  EXPECT_TRUE(RunInParts(0, 1569, &cap, &device).ok());
  EXPECT_TRUE(device.started.empty());
}

TEST(ReasonOfCudaError, TellsStickyErrorsFromOthers) {
  EXPECT_EQ(ReasonOfCudaError(2), Reason::kDeviceMemory);
  for (int sticky : {46,  100, 101, 214, 220, 226, 700, 702, 709, 710,
                     714, 715, 716, 717, 718, 719, 721, 810, 911, 999}) {
    EXPECT_EQ(ReasonOfCudaError(sticky), Reason::kDeviceLost) << sticky;
  }
  // invalid value, no kernel image, out of launch resources, capture unsupported
  for (int other : {1, 209, 701, 900}) {
    EXPECT_EQ(ReasonOfCudaError(other), Reason::kInternal) << other;
  }
}

// cuBLASLt says only that an execution failed.
TEST(WithCause, ALostDeviceIsTheCauseOfWhatFailedBefore) {
  const absl::Status product = MakeError(Reason::kInternal, "cuBLASLt failed: status 13");
  const absl::Status lost = WithCause(product, 700);
  EXPECT_EQ(ReasonOf(lost), Reason::kDeviceLost);
  EXPECT_THAT(std::string(lost.message()), ::testing::HasSubstr("700: cuBLASLt failed: status 13"));
  EXPECT_EQ(WithCause(product, 0), product);
  EXPECT_EQ(WithCause(product, 901), product);
  EXPECT_EQ(WithCause(FakeDevice::OutOfMemory(), 0), FakeDevice::OutOfMemory());
  EXPECT_EQ(ReasonOf(WithCause(FakeDevice::OutOfMemory(), 719)), Reason::kDeviceLost);
  EXPECT_EQ(WithCause(FakeDevice::Lost(), 700), FakeDevice::Lost());
}

CudaSystem Devices(int count) { return {.built = true, .devices = count}; }
const CudaSystem kNoDriver = {.built = true, .devices = 0, .why_none = "no driver"};

TEST(ChooseDevice, TakesTheNamedOne) {
  EXPECT_EQ(ChooseDevice("cpu", Devices(2))->cuda, -1);
  EXPECT_EQ(ChooseDevice("cuda:1", Devices(2))->cuda, 1);
  EXPECT_EQ(ChooseDevice("auto", Devices(2))->cuda, 0);
  EXPECT_EQ(ChooseDevice("cpu", {})->cuda, -1);
}

TEST(ChooseDevice, AutoFallsBackToTheCpuAndSaysWhy) {
  const auto without_driver = ChooseDevice("auto", kNoDriver);
  ASSERT_TRUE(without_driver.ok());
  EXPECT_EQ(without_driver->cuda, -1);
  EXPECT_THAT(without_driver->note, HasSubstr("no driver"));
  const auto not_built = ChooseDevice("auto", {});
  ASSERT_TRUE(not_built.ok());
  EXPECT_EQ(not_built->cuda, -1);
  EXPECT_THAT(not_built->note, HasSubstr("built without CUDA"));
}

TEST(ChooseDevice, PassesOverWhatCannotBeUsed) {
  const std::string old = WhyTooOld("Tesla T4", 7, 5);
  EXPECT_THAT(old, HasSubstr("Tesla T4 has compute capability 7.5"));
  EXPECT_EQ(WhyTooOld("NVIDIA A100", 8, 0), "");
  EXPECT_EQ(WhyTooOld("NVIDIA H200", 9, 0), "");
  CudaSystem system = Devices(2);
  system.unusable = {old, ""};
  EXPECT_EQ(ChooseDevice("auto", system)->cuda, 1);
  EXPECT_EQ(ChooseDevice("cuda:1", system)->cuda, 1);
  EXPECT_EQ(ReasonOf(ChooseDevice("cuda:0", system).status()), Reason::kFieldInvalid);
  EXPECT_THAT(std::string(ChooseDevice("cuda:0", system).status().message()),
              HasSubstr("device cuda:0: Tesla T4 has"));
  system.unusable = {old, "no cuBLASLt"};
  const auto none = ChooseDevice("auto", system);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->cuda, -1);
  EXPECT_THAT(none->note, HasSubstr("cuda:0: Tesla T4 has"));
  EXPECT_THAT(none->note, HasSubstr("cuda:1: no cuBLASLt"));
}

TEST(ChooseDevice, RefusesWhatIsNotThere) {
  const std::pair<const char*, CudaSystem> refused[] = {
      {"cuda:0", {}},          {"cuda:0", kNoDriver},   {"cuda:2", Devices(2)},
      {"cuda:-1", Devices(2)}, {"cuda", Devices(2)},    {"cuda:", Devices(2)},
      {"cuda:x", Devices(2)},  {"gpu", Devices(2)},     {"cuda:1x", Devices(2)},
      {"", Devices(2)},        {"cuda: 0", Devices(2)}, {"cuda:+1", Devices(2)}};
  for (const auto& [name, system] : refused) {
    EXPECT_EQ(ReasonOf(ChooseDevice(name, system).status()), Reason::kFieldInvalid) << name;
  }
  EXPECT_THAT(std::string(ChooseDevice("cuda:2", Devices(2)).status().message()),
              HasSubstr("has 2 CUDA devices"));
  EXPECT_THAT(std::string(ChooseDevice("cuda:0", kNoDriver).status().message()),
              HasSubstr("no driver"));
}

}  // namespace
}  // namespace scanline::cuda
