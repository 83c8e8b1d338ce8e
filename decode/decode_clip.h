#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "decode/byte_input.h"

namespace scanline {

// What one clip may cost. Each is looked at before the memory or the time is spent.
struct DecodeLimits {
  int64_t max_bytes = int64_t{16} << 20;
  int64_t max_pixels = 33'554'432;  // of a coded frame; looked at again at a change in mid-stream
  double max_duration_seconds = 3 * 3600;
  int64_t max_frames = 400'000;  // frames walked
  double max_cpu_seconds = 60;   // of the decoding thread
  int max_packets_without_frame = 512;
  int64_t max_clip_bytes = int64_t{1} << 30;  // of the pictures handed over
};

struct DecodeOptions {
  DecodeLimits limits;
  bool allow_partial = false;  // damaged input: the good frames and a notice instead of an error
};

// Decodes, samples, resizes and crops the video in `bytes` (a whole file in memory). Reads nothing
// else: no file, no URL. `bytes` is borrowed for the call.
// Errors: VIDEO_UNREADABLE, CODEC_UNSUPPORTED, NO_VIDEO_STREAM, VIDEO_TRUNCATED, VIDEO_CORRUPT, the
// limits' reasons, SEGMENT_OUT_OF_RANGE, FIELD_INVALID, EXPIRED_IN_DECODE, CANCELLED.
absl::StatusOr<Clip> DecodeClip(absl::Span<const uint8_t> bytes, const FrameSpec& spec,
                                const DecodeOptions& options, const Cancel& cancel);

// As above, of bytes that may still be arriving: the same frames and errors as of the whole file,
// an error as soon as the bytes that it depends on are there. Errors of `input` come through. Its
// owner has the limit of bytes: limits.max_bytes is not looked at.
absl::StatusOr<Clip> DecodeClip(ByteInput& input, const FrameSpec& spec,
                                const DecodeOptions& options, const Cancel& cancel);

// A sampled frame at full size: upright RGB (sample aspect applied where the spec says so), before
// resizing, on loan for the call. `stride` bytes from row to row.
struct FullFrame {
  int64_t index = 0;  // in display order
  int width = 0;
  int height = 0;
  const uint8_t* rgb = nullptr;
  ptrdiff_t stride = 0;
  bool keyframe = false;  // of FrameSpec's keyframes; with KeyframeSpec::show all of them come
};

using FrameWatch = std::function<absl::Status(const FullFrame&)>;

// As DecodeClip, and shows each distinct sampled frame to `watch`. Where the file had to be walked
// again frames come again, and some that the clip does not hold may come before: the last time that
// an index comes counts. An error of `watch` ends the decoding, and its time is no decoding time.
absl::StatusOr<Clip> DecodeClipWatched(absl::Span<const uint8_t> bytes, const FrameSpec& spec,
                                       const DecodeOptions& options, const Cancel& cancel,
                                       const FrameWatch& watch);
absl::StatusOr<Clip> DecodeClipWatched(ByteInput& input, const FrameSpec& spec,
                                       const DecodeOptions& options, const Cancel& cancel,
                                       const FrameWatch& watch);

// Pictures decoded by the caller: upright RGB, [count, height, width, 3].
struct RawFrames {
  int count = 0;
  int width = 0;
  int height = 0;
  absl::Span<const uint8_t> rgb;
  absl::Span<const double> offsets_seconds;  // one a frame, ascending, or none
};

// The frames as they are, resized and cropped, not sampled again: one view (times the spatial
// views), one window. `count` must be spec.sampling.frames. Times are the caller's: from the first
// offset until the last frame, which stays as long as the one before it, has left. A keyframe's
// time outside of that is SEGMENT_OUT_OF_RANGE, one nearer to another frame than to box_frame
// FIELD_INVALID; without offsets it is taken as it is.
absl::StatusOr<Clip> ClipFromFrames(const RawFrames& frames, const FrameSpec& spec,
                                    const DecodeLimits& limits);

}  // namespace scanline
