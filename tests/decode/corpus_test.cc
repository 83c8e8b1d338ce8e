// Every clip of the corpus: the frames that its pictures number, or the error that it is made for.
// SCANLINE_CLIPS_DIR may name another corpus of the same form.

#include "tests/support/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "decode/decode_clip.h"
#include "decode/sampling_plan.h"
#include "tests/support/pattern.h"

namespace scanline {
namespace {

using testing::CorpusClip;
using testing::Pattern;

constexpr double kMostSeconds = 10;

FrameSpec Sample(SamplingRule rule, int frames) {
  FrameSpec spec;
  spec.sampling.rule = rule;
  spec.sampling.frames = frames;
  spec.size = 32;
  spec.apply_sample_aspect = true;  // only then the pattern is square
  return spec;
}

struct Decoded {
  absl::StatusOr<Clip> clip = absl::UnknownError("not run");
  std::map<int64_t, Pattern> patterns;  // by index in display order
  std::map<int64_t, std::pair<int, int>> sizes;
  double seconds = 0;
};

Decoded Decode(const CorpusClip& clip, const FrameSpec& spec, const DecodeOptions& options = {}) {
  Decoded decoded;
  const std::vector<uint8_t> bytes = clip.bytes();
  const auto start = std::chrono::steady_clock::now();
  decoded.clip = DecodeClipWatched(bytes, spec, options, Cancel(), [&](const FullFrame& frame) {
    decoded.patterns[frame.index] =
        testing::ReadPattern(frame.rgb, frame.width, frame.height, frame.stride);
    decoded.sizes[frame.index] = {frame.width, frame.height};
    return absl::OkStatus();
  });
  decoded.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return decoded;
}

// The indices of view 0, and the numbers seen in those frames (-1: not readable).
std::vector<int64_t> Indices(const Decoded& decoded) {
  std::vector<int64_t> indices;
  for (int picture : decoded.clip->views[0].pictures) {
    indices.push_back(decoded.clip->sampled[picture / decoded.clip->spatial_views].index);
  }
  return indices;
}

std::vector<int64_t> Numbers(const Decoded& decoded) {
  std::vector<int64_t> numbers;
  for (int64_t index : Indices(decoded)) {
    const Pattern& pattern = decoded.patterns.at(index);
    numbers.push_back(pattern.ok ? pattern.number : -1);
  }
  return numbers;
}

// The clips over the default limits that are `ok` where the limits are raised.
bool IsOverDefaultLimits(const CorpusClip& clip) {
  const auto size = clip.row.value("size", std::vector<int64_t>{0, 0});
  return size[0] * size[1] > DecodeLimits{}.max_pixels;
}

// This corpus has clips of every kind; another one may lack the rarer kinds.
void ExpectSome(int checked) {
  EXPECT_GT(checked, std::getenv("SCANLINE_CLIPS_DIR") == nullptr ? 0 : -1);
}

// What the manifest asks of a rule: the listed sampling, else the rule's indices over the frames.
struct Rule {
  const char* name;
  SamplingRule rule;
  int frames;
};

std::vector<int64_t> WantedIndices(const Rule& rule, const CorpusClip& clip) {
  const auto sampling = clip.row.value("sampling", nlohmann::json::object());
  if (sampling.contains(rule.name)) {
    const auto& listed = sampling.at(rule.name);
    return (listed.is_object() ? listed.at("index") : listed).get<std::vector<int64_t>>();
  }
  const auto n = static_cast<int64_t>(clip.ids.size());
  return rule.rule == SamplingRule::kUniform ? UniformIndices(n, rule.frames)
                                             : K400SparseIndices(n, rule.frames, 0, 1);
}

void ExpectTheNumbers(const Rule& rule) {
  int right = 0, wrong = 0, listed = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.readable()) continue;
    SCOPED_TRACE(clip.file);
    const Decoded decoded = Decode(clip, Sample(rule.rule, rule.frames));
    EXPECT_TRUE(decoded.clip.ok()) << decoded.clip.status();
    EXPECT_LT(decoded.seconds, kMostSeconds);
    if (!decoded.clip.ok()) {
      ++wrong;
      continue;
    }
    const std::vector<int64_t> wanted = WantedIndices(rule, clip);
    std::vector<int64_t> ids;
    for (int64_t index : wanted) ids.push_back(clip.ids.at(index));
    EXPECT_EQ(Indices(decoded), wanted);
    EXPECT_EQ(Numbers(decoded), ids);
    EXPECT_EQ(decoded.clip->source.frames, static_cast<int64_t>(clip.ids.size()));
    listed += clip.row.contains("sampling");
    ++(Numbers(decoded) == ids ? right : wrong);
  }
  std::printf("%s: %d clips right, %d wrong (%d with listed indices)\n", rule.name, right, wrong,
              listed);
  EXPECT_GT(right, 0);
}

TEST(Corpus, Centre8) { ExpectTheNumbers({"centre_8", SamplingRule::kUniform, 8}); }
TEST(Corpus, Centre16) { ExpectTheNumbers({"centre_16", SamplingRule::kUniform, 16}); }
TEST(Corpus, Reference8) { ExpectTheNumbers({"reference_8", SamplingRule::kK400Sparse, 8}); }
TEST(Corpus, Reference16) { ExpectTheNumbers({"reference_16", SamplingRule::kK400Sparse, 16}); }

TEST(Corpus, ByTimeTheFrameOnScreenIsTaken) {
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    const auto sampling = clip.row.value("sampling", nlohmann::json::object());
    if (!sampling.contains("centre_8_by_time")) continue;
    SCOPED_TRACE(clip.file);
    FrameSpec spec = Sample(SamplingRule::kWindow, 8);
    spec.sampling.window_seconds = spec.sampling.stride_seconds = 1e6;  // one window over all
    const Decoded decoded = Decode(clip, spec);
    ASSERT_TRUE(decoded.clip.ok()) << decoded.clip.status();
    const auto& wanted = sampling.at("centre_8_by_time");
    const std::vector<int64_t> indices = Indices(decoded), numbers = Numbers(decoded);
    for (int k = 0; k < 8; ++k) {
      const int64_t listed = wanted.at("index").at(k);
      EXPECT_EQ(numbers[k], clip.ids.at(indices[k]));
      if (indices[k] == listed) continue;
      // The manifest's timestamps are rounded to microseconds, which turns "comes on just now" into
      // "a moment later".
      const auto& pts = clip.row.at("pts");
      const double at = pts.at(0).get<double>() + (k + 0.5) * wanted.at("rule_T").get<double>() / 8;
      EXPECT_EQ(indices[k], listed + 1);
      EXPECT_NEAR(pts.at(indices[k]).get<double>(), at, 3e-6) << "frame " << k;
    }
    ++checked;
  }
  std::printf("%d clips by time\n", checked);
  ExpectSome(checked);
}

// One time line for every clip: from 0 on, never falling. What the container says of two frames
// that follow each other holds, unless its time falls back between them (joined files) or is not
// said.
TEST(Corpus, TimesAreTheContainersFromTheFirstFrameOn) {
  int clips = 0, mended = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.row.contains("pts") || IsOverDefaultLimits(clip)) continue;
    const auto& listed = clip.row.at("pts");
    if (listed.size() != static_cast<size_t>(clip.frames) || listed.size() > 512) continue;
    SCOPED_TRACE(clip.file);
    FrameSpec spec = Sample(SamplingRule::kUniform, static_cast<int>(listed.size()));
    spec.size = 2;
    const Decoded decoded = Decode(clip, spec);
    ASSERT_TRUE(decoded.clip.ok()) << decoded.clip.status();
    ASSERT_EQ(decoded.clip->sampled.size(), listed.size());
    bool said = true;  // of every frame so far, and rising
    double last = 0;
    for (size_t i = 0; i < listed.size(); ++i) {
      const SampledFrame& frame = decoded.clip->sampled[i];
      ASSERT_TRUE(frame.seconds.has_value()) << "frame " << i;
      EXPECT_GE(*frame.seconds, last) << "frame " << i;
      EXPECT_LT(*frame.seconds, decoded.clip->source.duration_seconds) << "frame " << i;
      const bool both = i > 0 && !listed[i].is_null() && !listed[i - 1].is_null();
      const double step = both ? listed[i].get<double>() - listed[i - 1].get<double>() : -1;
      if (step >= 0) {
        EXPECT_NEAR(*frame.seconds - last, step, 2e-6) << "frame " << i;
      } else if (i > 0) {
        EXPECT_GT(*frame.seconds, last) << "frame " << i;
      }
      said = said && (i == 0 ? !listed[0].is_null() : step >= 0);
      if (said) {
        EXPECT_NEAR(*frame.seconds, listed[i].get<double>() - listed[0].get<double>(), 2e-6) << i;
      }
      last = *frame.seconds;
    }
    EXPECT_EQ(decoded.clip->sampled[0].seconds, 0);
    ++clips;
    mended += !said;
  }
  std::printf("%d clips with timestamps, %d of them with gaps or falls\n", clips, mended);
  EXPECT_GT(clips, 0);
  EXPECT_GT(mended, 0);
}

TEST(Corpus, GeometryIsUprightAndAspectIsASetting) {
  int checked = 0, stretched = 0, turned = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.row.contains("size_after_rotation") || IsOverDefaultLimits(clip))
      continue;
    int videos = 0;
    for (const std::string stream : clip.row.at("streams")) {
      videos += stream.find(":video:") != std::string::npos;
    }
    if (videos != 1) continue;  // which one is read is av_find_best_stream's choice
    SCOPED_TRACE(clip.file);
    for (const bool apply : {false, true}) {
      FrameSpec spec = Sample(SamplingRule::kUniform, 1);
      spec.sampling.end_seconds = 1e-3;  // the first frame: sizes may change later
      spec.apply_sample_aspect = apply;
      const Decoded decoded = Decode(clip, spec);
      ASSERT_TRUE(decoded.clip.ok()) << decoded.clip.status();
      const auto wanted = clip.row.at(apply ? "display_size" : "size_after_rotation");
      EXPECT_EQ(decoded.clip->source.width, wanted[0].get<int>()) << "apply " << apply;
      EXPECT_EQ(decoded.clip->source.height, wanted[1].get<int>()) << "apply " << apply;
      EXPECT_EQ(decoded.sizes.begin()->second.first, wanted[0].get<int>());
      const int rotation = (clip.row.value("rotation_ccw", 0) + 360) % 360;
      EXPECT_EQ(decoded.clip->source.rotation_ccw, rotation);
      turned += rotation != 0;
    }
    stretched += clip.row.at("display_size") != clip.row.at("size_after_rotation");
    ++checked;
  }
  std::printf("%d clips, %d with non-square pixels, %d turned\n", checked, stretched, turned / 2);
  EXPECT_GT(checked, 0);
}

TEST(Corpus, ColoursAreThoseOfTheFramesOwnTags) {
  // swscale's vector and scalar code differ by up to two levels, and the manifest rounds.
  constexpr double kSlack = 2.5;
  const int drawn[7][3] = {{200, 40, 40},   {40, 200, 40},   {40, 40, 200}, {200, 200, 40},
                           {128, 128, 128}, {235, 235, 235}, {20, 20, 20}};
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !clip.readable() || !clip.row.contains("ffmpeg_rgb_max_error")) continue;
    SCOPED_TRACE(clip.file);
    FrameSpec spec = Sample(SamplingRule::kUniform, 1);
    spec.sampling.end_seconds = 1e-3;
    const Decoded decoded = Decode(clip, spec);
    ASSERT_TRUE(decoded.clip.ok()) << decoded.clip.status();
    const Pattern& pattern = decoded.patterns.at(decoded.clip->sampled[0].index);
    const double limit = clip.row.at("ffmpeg_rgb_max_error").get<double>() + kSlack;
    for (int i = 0; i < 7; ++i) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_NEAR(pattern.colors[i][c], drawn[i][c], limit)
            << testing::kPatternColors[i] << " channel " << c;
      }
      const auto exact = clip.row.value("rgb_first_frame", nlohmann::json::object());
      if (!exact.contains(testing::kPatternColors[i])) continue;
      for (int c = 0; c < 3; ++c) {
        EXPECT_NEAR(pattern.colors[i][c], exact[testing::kPatternColors[i]][c].get<double>(),
                    kSlack);
      }
    }
    ++checked;
  }
  std::printf("%d clips with colours\n", checked);
  EXPECT_GT(checked, 0);
}

std::set<Reason> ReasonsFor(const std::string& expect) {
  if (expect == "error:INVALID_ARGUMENT") return {Reason::kVideoUnreadable};
  if (expect == "error:NO_VIDEO" || expect == "error:NO_FRAMES") return {Reason::kNoVideoStream};
  if (expect == "error:UNSUPPORTED") return {Reason::kCodecUnsupported};
  if (expect == "error:RESOURCE") {
    return {Reason::kResolutionLimit, Reason::kFrameLimit, Reason::kDurationLimit,
            Reason::kDecodeBudget, Reason::kClipTooLarge};
  }
  return {};
}

TEST(Corpus, ErrorClassesHaveTheirReasons) {
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    const std::set<Reason> wanted = ReasonsFor(clip.expect);
    if (wanted.empty()) continue;
    SCOPED_TRACE(clip.file);
    const Decoded decoded = Decode(clip, Sample(SamplingRule::kUniform, 8));
    EXPECT_LT(decoded.seconds, kMostSeconds);
    const auto reason = ReasonOf(decoded.clip.status());
    ASSERT_TRUE(reason.has_value()) << decoded.clip.status();
    EXPECT_TRUE(wanted.count(*reason)) << clip.expect << " gave " << decoded.clip.status();
    ++checked;
  }
  std::printf("%d clips refused as they should be\n", checked);
  ExpectSome(checked);
}

// Damaged clips: the frames or VIDEO_TRUNCATED / VIDEO_CORRUPT; with allow_partial always frames,
// and a notice wherever it would have been an error.
TEST(Corpus, PartialClipsGiveFramesOrSayWhy) {
  int checked = 0, refused = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (clip.expect != "partial") continue;
    SCOPED_TRACE(clip.file);
    const FrameSpec spec = Sample(SamplingRule::kUniform, 8);
    const Decoded strict = Decode(clip, spec);
    EXPECT_LT(strict.seconds, kMostSeconds);
    if (!strict.clip.ok()) {
      const auto reason = ReasonOf(strict.clip.status());
      EXPECT_TRUE(reason == Reason::kVideoTruncated || reason == Reason::kVideoCorrupt)
          << strict.clip.status();
      ++refused;
    }
    const Decoded partial = Decode(clip, spec, {.allow_partial = true});
    ASSERT_TRUE(partial.clip.ok()) << partial.clip.status();
    EXPECT_EQ(partial.clip->views[0].pictures.size(), 8u);
    EXPECT_EQ(partial.clip->source.frames, clip.frames);
    if (!strict.clip.ok()) {
      EXPECT_FALSE(partial.clip->notices.empty());
    }
    // What is not marked as damaged shows the number that the manifest says for this frame.
    for (const SampledFrame& frame : partial.clip->sampled) {
      const Pattern& pattern = partial.patterns.at(frame.index);
      if (frame.corrupt || frame.index >= static_cast<int64_t>(clip.ids.size())) continue;
      EXPECT_EQ(pattern.ok ? pattern.number : -1, clip.ids[frame.index]) << "frame " << frame.index;
    }
    ++checked;
  }
  std::printf("%d damaged clips, %d refused unless partial ones are allowed\n", checked, refused);
  ExpectSome(checked);
}

TEST(Corpus, ClipsOverTheLimitsDecodeWhereTheLimitsAreRaised) {
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (!clip.ok() || !IsOverDefaultLimits(clip)) continue;
    SCOPED_TRACE(clip.file);
    const FrameSpec spec = Sample(SamplingRule::kUniform, 3);
    EXPECT_EQ(ReasonOf(Decode(clip, spec).clip.status()), Reason::kResolutionLimit);
    DecodeOptions raised;
    raised.limits.max_pixels *= 4;
    const Decoded decoded = Decode(clip, spec, raised);
    ASSERT_TRUE(decoded.clip.ok()) << decoded.clip.status();
    EXPECT_EQ(decoded.clip->source.frames, clip.frames);
    ++checked;
  }
  std::printf("%d clips over the default limits\n", checked);
  ExpectSome(checked);
}

}  // namespace
}  // namespace scanline
