#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/args.h"
#include "client/cli/ava_score.h"
#include "client/cli/exit_code.h"
#include "client/cli/interrupt.h"
#include "client/cli/terminal.h"

namespace scanline::cli {

// A server's detections in the clips of a truth.
struct AvaRun {
  int exit_code = kExitOk;           // of what ended the run before its time, else kExitOk
  std::string model;                 // resource name
  std::string findings;              // rows for ParseAvaFindings, by video and time
  std::map<int, std::string> names;  // of the actions that were found, as the model has them
  std::map<std::string, std::string> skipped;  // videos without an answer, and why
  std::map<AvaFrame, std::string> left_out;    // keyframes that were not looked at, and why
};

// The clips of `folder` by their names without an end, as AVA's files name them. Errors: a folder
// without clips, and two clips of one name.
absl::StatusOr<std::map<std::string, std::string>> ClipsByVideo(const std::string& folder);

// The longest interval, in milliseconds, that divides a second and meets each of `keyframes`. An
// error where it is below 100 ms: so many looks are not meant.
absl::StatusOr<int64_t> IntervalThrough(const std::set<AvaFrame>& keyframes);

// Asks the server for what people do in args.eval.clips at the truth's `keyframes`, of the people
// that it finds or, with args.eval.true_boxes, in the boxes of `truths`. Says what it skips and
// leaves out. Errors are those of the user: also that no clip goes by the name of any video.
absl::StatusOr<AvaRun> DetectForAva(const Args& args, const Terminal& terminal,
                                    Interrupt& interrupt, const std::vector<AvaAction>& truths,
                                    const std::set<AvaFrame>& keyframes);

}  // namespace scanline::cli
