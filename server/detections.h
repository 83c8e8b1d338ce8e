#pragma once

#include "scanline/v1/video_service.pb.h"
#include "server/request.h"

namespace scanline {

// What each person does, by keyframe in the order of time; in a keyframe, boxes of the client in
// the order given, people found best first. A person whom the model's picture does not show has no
// classes.
void SetDetections(const Reply& reply, v1::ClipResult* result);

}  // namespace scanline
