// What one clip may take of the machine: each clip of the corpus, hostile ones included, is decoded
// in a process of its own, whose peak memory and time are then read.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "decode/decode_clip.h"
#include "tests/support/corpus.h"

namespace scanline {
namespace {

// Sanitizers keep freed memory and shadows several times the size of what is touched: there the
// test still finds crashes, hangs and what is out of all proportion.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSanitizerFactor = 4;
#else
constexpr double kSanitizerFactor = 1;
#endif
constexpr double kMostSeconds = 10;

struct Cost {
  bool exited = false;  // not by a signal
  double peak_mib = 0;
  double seconds = 0;
};

Cost CostOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage = {};
  Cost cost;
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return cost;
  cost.exited = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  cost.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return cost;
}

FrameSpec EightFrames() {
  FrameSpec spec;
  spec.sampling.frames = 8;
  return spec;
}

Cost CostOfClip(const testing::CorpusClip& clip, const DecodeLimits& limits) {
  const std::vector<uint8_t> bytes = clip.bytes();
  return CostOf([&] {
    const auto decoded =
        DecodeClip(bytes, EightFrames(), {.limits = limits, .allow_partial = true}, Cancel());
    if (!decoded.ok() && !ReasonOf(decoded.status()).has_value()) abort();
  });
}

// More than twice of what any clip of the corpus takes.
constexpr double kMostMib = 96;

TEST(Memory, NoClipOfTheCorpusTakesMoreThanItsShare) {
  const double base = CostOf([] {}).peak_mib;
  double most = 0;
  std::string most_of;
  int clips = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    SCOPED_TRACE(clip.file);
    const Cost cost = CostOfClip(clip, {});
    EXPECT_TRUE(cost.exited);
    EXPECT_LT(cost.seconds, kMostSeconds);
    const double own = cost.peak_mib - base;
    EXPECT_LT(own, kMostMib * kSanitizerFactor);
    if (own > most) {
      most = own;
      most_of = clip.file;
    }
    ++clips;
  }
  std::printf("%d clips, at most %.0f MiB (%s)\n", clips, most, most_of.c_str());
  EXPECT_GT(clips, 0);
}

TEST(Memory, TheLimitOfPixelsIsWhatHoldsIt) {
  const double base = CostOf([] {}).peak_mib;
  int checked = 0;
  for (const auto& clip : testing::ReadCorpus()) {
    if (clip.file != "mp4_flat_8192.mp4") continue;  // 0.2 MB of flat pictures, 64 megapixels each
    DecodeLimits raised;
    raised.max_pixels = int64_t{8192} * 8192;
    const Cost cost = CostOfClip(clip, raised);
    EXPECT_TRUE(cost.exited);
    EXPECT_GT(cost.peak_mib - base, 2 * kMostMib);
    ++checked;
  }
  const bool own_corpus = std::getenv("SCANLINE_CLIPS_DIR") == nullptr;
  EXPECT_EQ(checked, own_corpus ? 1 : checked);
}

}  // namespace
}  // namespace scanline
