#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "decode/demuxer.h"
#include "decode/libav.h"

namespace scanline::render {

// The stretch of the input's timeline that the output shows, in seconds; it is time 0 of the
// output.
struct SoundSpan {
  double start = 0;
  double end = 0;
};

// Packets of sound for the output, in order. What lies outside of the span is left out.
class Sound {
 public:
  virtual ~Sound() = default;
  virtual const AVCodecParameters& parameters() const = 0;
  virtual AVRational time_base() const = 0;
  // False at the end.
  virtual absl::StatusOr<bool> Next(AVPacket* packet) = 0;
};

// The packets as they are in the input.
std::unique_ptr<Sound> CopySound(std::unique_ptr<Demuxer> demuxer, const SoundSpan& span);

// Decoded and encoded again with `encoder` ("aac", "libopus") at 48 kHz, mono or stereo. An error
// where there is no such encoder or no decoder for what is there.
absl::StatusOr<std::unique_ptr<Sound>> TranscodeSound(std::unique_ptr<Demuxer> demuxer,
                                                      const SoundSpan& span,
                                                      const std::string& encoder);

}  // namespace scanline::render
