#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decode/decode_clip.h"
#include "decode/libav.h"
#include "decode/libav_log.h"

namespace scanline {

// One libavcodec decoder with one thread, bounded in picture size and in packets without a frame.
class FrameDecoder {
 public:
  // `findings` is borrowed. CODEC_UNSUPPORTED where the decoder refuses the stream.
  static absl::StatusOr<FrameDecoder> Open(const AVCodec& codec, const AVStream& stream,
                                           const DecodeLimits& limits, LibavFindings* findings);

  // Decodes one packet (null: what is still inside) and calls `on_frame` for each frame that comes
  // out. False: the packet was lost to an error. Errors: those of `on_frame`, RESOLUTION_LIMIT,
  // DECODE_BUDGET.
  absl::StatusOr<bool> Feed(const AVPacket* packet,
                            const std::function<absl::Status(const AVFrame&)>& on_frame);

  // Forgets all pictures; the next packet is a key.
  void Restart() { avcodec_flush_buffers(context_.get()); }

 private:
  FrameDecoder(const DecodeLimits& limits, LibavFindings* findings)
      : limits_(limits), findings_(findings) {}

  DecodeLimits limits_;
  LibavFindings* findings_;
  CodecPtr context_;
  FramePtr frame_;
  int packets_without_frame_ = 0;
};

// The decoder concealed damage in this frame.
bool IsCorrupt(const AVFrame& frame);

}  // namespace scanline
