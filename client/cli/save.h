#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/annotations.h"
#include "client/cli/args.h"
#include "client/cli/interrupt.h"

namespace scanline::cli {

// What a run can know before it asks the server about args.save, whose names are good (WrongSave):
// that there is exactly one of `inputs` and that it is a file, that nothing is replaced without
// args.force and what the command reads never is, that no file is there twice, that the folders
// exist, and a font where one is needed.
absl::Status CheckSave(const Args& args, const std::vector<std::string>& inputs);

// Writes `annotations` of the clip `input` as each of args.save, each whole or not at all; says
// what keeps it from that. AVA files have all actions of `annotations`, COCO and CVAT without
// args.detect.top_k the best kTopActions. To the exit code.
int Save(const Args& args, Interrupt& interrupt, const std::string& input,
         const Annotations& annotations);

}  // namespace scanline::cli
