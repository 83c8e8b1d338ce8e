#pragma once

#include "client/cli/args.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The request that the flags of `classify` stand for.
v1::AnalysisSpec SpecOf(const Args& args);

// The one that those of `detect` stand for, without boxes.
v1::AnalysisSpec DetectSpecOf(const Args& args);

// "models/NAME" of "NAME"; a name that has the prefix already, and "", are left as they are.
std::string ModelResource(const std::string& name);

// To the nanosecond.
void SetSeconds(double seconds, google::protobuf::Duration* duration);

}  // namespace scanline::cli
