#include "server/decode_request.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the wire's tensors are

// What the finder sees, by the frame's number; where a frame comes again, the last time counts.
struct Sightings {
  std::map<int64_t, std::vector<PersonBox>> of_frame;
  absl::Duration took;
};

absl::Status LookAt(const FullFrame& frame, const Request& request, Sightings* sightings) {
  if (!frame.keyframe) return absl::OkStatus();
  SCANLINE_RETURN_IF_ERROR(request.cancel.Check(Reason::kExpiredInDecode));
  const absl::Time begin = absl::Now();
  SCANLINE_ASSIGN_OR_RETURN(sightings->of_frame[frame.index],
                            request.model->find_people(frame, request.people.min_score));
  sightings->took += absl::Now() - begin;
  return absl::OkStatus();
}

// One keyframe, of which the caller's picture is the frame. A tensor has no times of its own, so
// the boxes' is taken as it is, like that of frames without offsets.
void SetTensorKeyframe(const KeyframeSpec& keyframes, Clip* clip) {
  clip->keyframes.push_back({keyframes.seconds.empty() ? 0 : keyframes.seconds[0],
                             keyframes.box_frame, 0, clip->width, clip->height});
}

absl::Status NeedsBoxes(const char* why) {
  return MakeError(Reason::kFieldInvalid,
                   absl::StrCat("spec.detect.proposals: expected boxes ", why, ", found none"),
                   {{"field", "spec.detect.proposals"}});
}

absl::StatusOr<Clip> ClipFromTensor(const TensorInput& input, const Request& request) {
  const auto& keyframes = request.frame_spec.sampling.keyframes;
  if (request.people.find) return NeedsBoxes("beside a tensor, in which nobody can be looked for");
  if (keyframes && keyframes->seconds.size() > 1) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("spec.detect.proposals: expected boxes of one moment, since a "
                                  "tensor is one window; found ",
                                  keyframes->seconds.size()),
                     {{"field", "spec.detect.proposals"}});
  }
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
  if (keyframes) SetTensorKeyframe(*keyframes, &clip);
  return clip;
}

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

absl::StatusOr<Clip> ClipOfFrames(const FrameInput& frames, const Request& request,
                                  const DecodeLimits& limits, const FrameWatch& watch) {
  const RawFrames raw = {.count = frames.count,
                         .width = frames.width,
                         .height = frames.height,
                         .rgb = Bytes(frames.rgb),
                         .offsets_seconds = frames.offsets_seconds};
  SCANLINE_ASSIGN_OR_RETURN(Clip clip, ClipFromFrames(raw, request.frame_spec, limits));
  if (!watch) return clip;
  const ptrdiff_t stride = ptrdiff_t{3} * frames.width;
  for (const Keyframe& keyframe : clip.keyframes) {
    SCANLINE_RETURN_IF_ERROR(watch({.index = keyframe.frame,
                                    .width = frames.width,
                                    .height = frames.height,
                                    .rgb = raw.rgb.data() + keyframe.frame * stride * frames.height,
                                    .stride = stride,
                                    .keyframe = true}));
  }
  return clip;
}

absl::StatusOr<Clip> Decode(const Request& request, const DecodeLimits& limits,
                            const FrameWatch& watch) {
  const DecodeOptions options = {.limits = limits, .allow_partial = request.allow_partial};
  if (const auto* content = std::get_if<std::string>(&request.input)) {
    return DecodeClipWatched(Bytes(*content), request.frame_spec, options, request.cancel, watch);
  }
  if (const UploadPtr* const upload = request.upload()) {
    return DecodeClipWatched(**upload, request.frame_spec, options, request.cancel, watch);
  }
  if (const auto* tensor = std::get_if<TensorInput>(&request.input)) {
    return ClipFromTensor(*tensor, request);
  }
  return ClipOfFrames(std::get<FrameInput>(request.input), request, limits, watch);
}

}  // namespace

absl::StatusOr<DecodedClip> DecodeRequest(const Request& request, const DecodeLimits& limits) {
  if (!request.people.find) return Decode(request, limits, nullptr);
  Sightings sightings;
  SCANLINE_ASSIGN_OR_RETURN(Clip clip, Decode(request, limits, [&](const FullFrame& frame) {
                              return LookAt(frame, request, &sightings);
                            }));
  DecodedClip decoded(std::move(clip));
  for (const Keyframe& keyframe : decoded.clip.keyframes) {
    const auto seen = sightings.of_frame.find(keyframe.frame);
    if (seen == sightings.of_frame.end()) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("nobody looked at keyframe ", keyframe.frame));
    }
    decoded.found.push_back(seen->second);
  }
  decoded.finding = sightings.took;
  return decoded;
}

}  // namespace scanline
