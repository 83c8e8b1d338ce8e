#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/args.h"
#include "client/cli/search_format.h"

namespace scanline::cli {

// Writes args.save: the middle frame of each hit with its time, score and file, best first. A file
// that cannot be read any more, or changed since, has its text alone.
absl::Status SaveSheet(const Args::Search& args, const std::string& model,
                       const std::vector<Hit>& hits);

}  // namespace scanline::cli
