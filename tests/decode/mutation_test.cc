// Damaged files of every kind: frames or a typed reason, in bounded time. Seeds are fixed; a
// failure names the clip and the round.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <random>

#include "base/error.h"
#include "decode/decode_clip.h"
#include "tests/support/corpus.h"

namespace scanline {
namespace {

using Bytes = std::vector<uint8_t>;

// Bits flipped anywhere, or in the first 2000 bytes (where the headers are), or a stretch of zeros,
// or the end cut off.
Bytes Damage(Bytes bytes, int kind, std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const size_t reach = kind == 1 ? std::min<size_t>(bytes.size(), 2'000) : bytes.size();
  if (kind <= 1) {
    for (size_t i = below(32) + 1; i > 0; --i) bytes[below(reach)] ^= 1 << below(8);
  } else if (kind == 2) {
    const size_t at = below(bytes.size());
    const size_t end = std::min(bytes.size(), at + below(bytes.size() / 4 + 1));
    std::fill(bytes.begin() + static_cast<long>(at), bytes.begin() + static_cast<long>(end), 0);
  } else {
    bytes.resize(below(bytes.size()) + 1);
  }
  return bytes;
}

TEST(Mutation, DamagedClipsGiveFramesOrATypedReason) {
  constexpr size_t kLargest = 60'000;
  std::mt19937 random(20261130);
  std::map<std::string, int> answers;
  FrameSpec spec;
  spec.sampling.frames = 4;
  spec.size = 16;
  for (const auto& clip : testing::ReadCorpus()) {
    const Bytes bytes = clip.bytes();
    if (bytes.empty() || bytes.size() > kLargest) continue;
    for (int kind = 0; kind < 4; ++kind) {
      SCOPED_TRACE(clip.file + " kind " + std::to_string(kind));
      const Bytes damaged = Damage(bytes, kind, random);
      const auto start = std::chrono::steady_clock::now();
      const auto decoded = DecodeClip(damaged, spec, {.allow_partial = true}, Cancel());
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
      if (decoded.ok()) {
        EXPECT_EQ(decoded->views[0].pictures.size(), 4u);
        ++answers["frames"];
        continue;
      }
      const auto reason = ReasonOf(decoded.status());
      ASSERT_TRUE(reason.has_value()) << decoded.status();
      EXPECT_NE(*reason, Reason::kInternal) << decoded.status();
      EXPECT_NE(*reason, Reason::kVideoCorrupt)
          << "partial clips are allowed: " << decoded.status();
      ++answers[std::string(ReasonName(*reason))];
    }
  }
  for (const auto& [answer, count] : answers) std::printf("%s: %d\n", answer.c_str(), count);
  EXPECT_GT(answers["frames"], 0);
}

}  // namespace
}  // namespace scanline
