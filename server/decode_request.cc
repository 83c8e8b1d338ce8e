#include "server/decode_request.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"

namespace scanline {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the wire's tensors are

absl::StatusOr<Clip> ClipFromTensor(const TensorInput& input) {
  Clip clip;
  clip.width = input.width;
  clip.height = input.height;
  clip.tensor.resize(input.values.size() / sizeof(float));
  std::memcpy(clip.tensor.data(), input.values.data(), input.values.size());
  for (size_t i = 0; i < clip.tensor.size(); ++i) {
    if (std::isfinite(clip.tensor[i])) continue;
    const std::string place = absl::StrCat("tensor.values[", i, "]");
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat(place, ": expected a finite number, found ", clip.tensor[i]),
                     {{"field", place}});
  }
  clip.windows.resize(1);
  clip.views.resize(1);
  clip.source.width = input.width;
  clip.source.height = input.height;
  clip.source.frames = input.frames;
  return clip;
}

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
  if (const auto* tensor = std::get_if<TensorInput>(&request.input)) {
    return ClipFromTensor(*tensor);
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
