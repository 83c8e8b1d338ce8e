#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/error.h"
#include "decode/decode_clip.h"
#include "tests/support/arriving_file.h"

namespace scanline {
namespace {

// Small enough for some tens of runs a second under the sanitizers.
constexpr size_t kMostBytes = 96 << 10;

DecodeOptions Options(bool allow_partial) {
  DecodeOptions options;
  options.allow_partial = allow_partial;
  options.limits.max_pixels = 320 * 240;
  options.limits.max_frames = 100;
  options.limits.max_cpu_seconds = 3;
  options.limits.max_packets_without_frame = 64;
  options.limits.max_clip_bytes = 256 << 10;
  return options;
}

// Each rule has its turn, by what costs nothing to change: the number of bytes.
FrameSpec SpecFor(size_t size) {
  constexpr SamplingRule kRules[] = {SamplingRule::kUniform, SamplingRule::kWindow,
                                     SamplingRule::kK400Dense, SamplingRule::kAva};
  constexpr ResizeRule kResizes[] = {ResizeRule::kShortSideBilinear, ResizeRule::kCentreSquareArea,
                                     ResizeRule::kSquareBicubic};
  FrameSpec spec;
  spec.sampling.rule = kRules[size % 4];
  spec.sampling.frames = 4;
  spec.sampling.window_seconds = 0.5;
  spec.sampling.stride_seconds = 0.25;
  spec.resize = kResizes[size / 4 % 3];
  spec.size = 16;
  spec.apply_sample_aspect = size % 2 == 1;
  return spec;
}

void CheckClip(const Clip& clip, const FrameSpec& spec) {
  SCANLINE_CHECK(!clip.views.empty() && !clip.windows.empty() && !clip.sampled.empty());
  SCANLINE_CHECK(clip.pixels.size() == clip.sampled.size() * clip.picture_bytes());
  for (const View& view : clip.views) {
    SCANLINE_CHECK(static_cast<int>(view.pictures.size()) == spec.sampling.frames);
    SCANLINE_CHECK(static_cast<size_t>(view.window) < clip.windows.size());
    for (const int picture : view.pictures) {
      SCANLINE_CHECK(picture >= 0 && static_cast<size_t>(picture) < clip.sampled.size());
    }
  }
  int64_t last = -1;
  for (const SampledFrame& frame : clip.sampled) {
    SCANLINE_CHECK(frame.index > last && frame.index < clip.source.frames);
    last = frame.index;
  }
}

}  // namespace
}  // namespace scanline

// Any bytes give the frames that the rule asks for, or a typed reason; within the limits, and
// without a leak.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scanline;
  if (size > kMostBytes) return -1;
  const FrameSpec spec = SpecFor(size);
  const DecodeOptions options = Options(size / 12 % 2 == 0);
  testing::ArrivingFile arriving({data, size}, 1.0);
  const auto clip = size / 24 % 2 == 0 ? DecodeClip({data, size}, spec, options, Cancel())
                                       : DecodeClip(arriving, spec, options, Cancel());
  if (clip.ok()) {
    CheckClip(*clip, spec);
  } else {
    const auto reason = ReasonOf(clip.status());
    SCANLINE_CHECK(reason.has_value() && *reason != Reason::kInternal);
    SCANLINE_CHECK(!clip.status().message().empty());
  }
  return 0;
}
