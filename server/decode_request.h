#pragma once

#include "absl/status/statusor.h"
#include "decode/decode_clip.h"
#include "server/request.h"

namespace scanline {

// What the pipeline's decode stage does in the server: decode/ on the request's bytes or frames.
// Where people are to be found, the model's finder looks at the keyframes' frames as they are
// decoded, so that no frame is decoded twice or kept at its full size.
absl::StatusOr<DecodedClip> DecodeRequest(const Request& request, const DecodeLimits& limits);

}  // namespace scanline
