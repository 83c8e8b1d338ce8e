#include "server/decode_request.h"

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace scanline {
namespace {

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

absl::StatusOr<Clip> DecodeRequest(const Request& request, const DecodeLimits& limits) {
  if (const auto* content = std::get_if<std::string>(&request.input)) {
    return DecodeClip(Bytes(*content), request.frame_spec,
                      {.limits = limits, .allow_partial = request.allow_partial}, request.cancel);
  }
  if (const UploadPtr* const upload = request.upload()) {
    return DecodeClip(**upload, request.frame_spec,
                      {.limits = limits, .allow_partial = request.allow_partial}, request.cancel);
  }
  const auto& frames = std::get<FrameInput>(request.input);
  const RawFrames raw = {.count = frames.count,
                         .width = frames.width,
                         .height = frames.height,
                         .rgb = Bytes(frames.rgb),
                         .offsets_seconds = frames.offsets_seconds};
  return ClipFromFrames(raw, request.frame_spec, limits);
}

}  // namespace scanline
