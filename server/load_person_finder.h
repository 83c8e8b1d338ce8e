#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/people.h"

namespace scanline {

// The person detector of `folder`, in use by as many threads as call it; "": the one that
// `./dev setup` made, or null where there is none, or, with a line in the log, it cannot be used.
// `threads`: of one look. Errors (of a folder that was named): BUNDLE_INVALID.
absl::StatusOr<PersonFinder> LoadPersonFinder(const std::string& folder, int threads);

}  // namespace scanline
