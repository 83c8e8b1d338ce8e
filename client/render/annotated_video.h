#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "client/render/overlay.h"
#include "decode/decode_clip.h"

namespace scanline::render {

// What became of the input's sound; kNone: it has none.
enum class SoundUse { kNone, kCopied, kTranscoded, kDropped };

struct AnnotateOptions {
  // Drawing and encoding count as decoding, on the user's own machine.
  DecodeLimits limits = {.max_cpu_seconds = 4 * 3600};
  std::string video_encoder;  // of libavcodec; empty: libx264, or libvpx-vp9 where it is missing
  std::function<void(double)> on_progress;  // share done, in 0..1
};

struct AnnotatedVideo {
  int width = 0;
  int height = 0;
  int64_t frames = 0;
  std::string video_encoder;
  SoundUse sound = SoundUse::kNone;
  std::vector<Notice> notices;  // damage of the input, sound that had to go
};

// Draws `overlay` on the video file `input` and writes `output`, whole or not at all; a file of
// that name is replaced. The pictures come upright, with square pixels, at the size they are shown
// (to even numbers), each at its own time. H.264 (yuv420p) with the sound in an MP4 that starts
// while it loads; a name in .webm gives VP9 and Opus. Sound is copied where the container takes it.
// Errors: those of reading and writing files, of decode::DecodeClip, FAILED_PRECONDITION where this
// FFmpeg has no encoder or the machine no font, CANCELLED.
absl::StatusOr<AnnotatedVideo> WriteAnnotatedVideo(const std::string& input,
                                                   const std::string& output,
                                                   const Overlay& overlay,
                                                   const AnnotateOptions& options = {},
                                                   const Cancel& cancel = Cancel());

}  // namespace scanline::render
