#pragma once

#include "absl/status/status.h"
#include "scanline/v1/video_service.pb.h"
#include "server/from_proto.h"
#include "server/request.h"

namespace scanline {

// What TASK_DETECT_ACTIONS is asked of: fills the keyframes of request.frame_spec, request.people
// and the answer's options. After the model, the tasks and the sampling are known; without the task
// it does nothing. Boxes without times count for every keyframe of the model's rule; boxes with
// times make keyframes of these; without boxes people are found by the server.
// Errors: FIELD_INVALID, TASK_UNSUPPORTED (nobody finds people here).
absl::Status ReadDetect(const v1::DetectOptions& options, const RequestLimits& limits,
                        Request& request);

}  // namespace scanline
