#include "decode/frame_decoder.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "decode/demuxer.h"

namespace scanline {

bool IsCorrupt(const AVFrame& frame) {
  return (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame.decode_error_flags != 0;
}

absl::StatusOr<FrameDecoder> FrameDecoder::Open(const AVCodec& codec, const AVStream& stream,
                                                const DecodeLimits& limits,
                                                LibavFindings* findings) {
  FrameDecoder decoder(limits, findings);
  decoder.frame_.reset(av_frame_alloc());
  decoder.context_.reset(avcodec_alloc_context3(&codec));
  AVCodecContext* context = decoder.context_.get();
  const bool allocated = decoder.frame_ != nullptr && context != nullptr;
  int opened =
      allocated ? avcodec_parameters_to_context(context, stream.codecpar) : AVERROR(ENOMEM);
  if (opened >= 0) {
    context->thread_count = 1;
    context->max_pixels = limits.max_pixels;
    context->pkt_timebase = stream.time_base;
    opened = avcodec_open2(context, &codec, nullptr);
  }
  if (opened < 0) {
    return MakeError(Reason::kCodecUnsupported,
                     absl::StrFormat("the decoder for %s does not take this video: %s", codec.name,
                                     LibavErrorText(opened)),
                     {{"codec", codec.name}});
  }
  return decoder;
}

absl::StatusOr<bool> FrameDecoder::Feed(
    const AVPacket* packet, const std::function<absl::Status(const AVFrame&)>& on_frame) {
  findings_->refused_width = 0;
  int result = avcodec_send_packet(context_.get(), packet);
  bool decoded = result >= 0 || result == AVERROR_EOF;
  // Frames may be ready although this packet failed.
  while ((result = avcodec_receive_frame(context_.get(), frame_.get())) >= 0) {
    packets_without_frame_ = 0;
    SCANLINE_RETURN_IF_ERROR(on_frame(*frame_));
  }
  decoded = decoded && (result == AVERROR(EAGAIN) || result == AVERROR_EOF);
  if (!decoded && findings_->refused_width != 0) {
    return ResolutionError(findings_->refused_width, findings_->refused_height, limits_.max_pixels);
  }
  if (packet == nullptr || (packet->flags & AV_PKT_FLAG_DISCARD)) return decoded;
  if (++packets_without_frame_ > limits_.max_packets_without_frame) {
    return MakeError(
        Reason::kDecodeBudget,
        absl::StrFormat("%d packets in a row gave no frame; the video is damaged or its beginning "
                        "is missing",
                        limits_.max_packets_without_frame),
        {{"limit", absl::StrCat(limits_.max_packets_without_frame)}});
  }
  return decoded;
}

}  // namespace scanline
