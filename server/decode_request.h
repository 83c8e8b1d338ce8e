#pragma once

#include "absl/status/statusor.h"
#include "base/clip.h"
#include "decode/decode_clip.h"
#include "server/request.h"

namespace scanline {

// What the pipeline's decode stage does in the server: decode/ on the request's bytes or frames.
absl::StatusOr<Clip> DecodeRequest(const Request& request, const DecodeLimits& limits);

}  // namespace scanline
