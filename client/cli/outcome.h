#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/client_error.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// What became of one input.
struct Outcome {
  std::string input;
  absl::StatusOr<v1::ClipResult> result;
};

// "not a video (VIDEO_UNREADABLE): no known container in the first 2.1 kB"; of a file that never
// reached the server "no such file (FILE_NOT_FOUND)".
std::string Sentence(const ClientError& error);

double Seconds(const google::protobuf::Duration& duration);

// Time that the request waited: for a decoder and for a batch.
double QueueSeconds(const v1::Timing& timing);

}  // namespace scanline::cli
