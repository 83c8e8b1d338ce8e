#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The member of a JSON object that says what became of a clip: "result":<ClipResult> or
// "error":{code, reason, message}. Without `logits`, which the server then did not fill in, classes
// have no such field: 0 would be taken for a logit. `detections`: they were asked for, classes were
// not.
std::string ResultMember(const absl::StatusOr<v1::ClipResult>& result, bool logits = false,
                         bool detections = false);

}  // namespace scanline::cli
