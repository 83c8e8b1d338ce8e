#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/ava_score.h"

namespace scanline::cli {

// The files of the AVA dataset and its challenge: CSV without a header. `what` names the text in
// errors, which name the line too: what is no number, a box whose sides are the wrong way round (an
// empty one is none), a time below 0, a score outside of 0..1.

// video, seconds, x_min, y_min, x_max, y_max, action[, person]. A row of video and seconds alone,
// or whose action is empty, says that nobody does anything there, and is left out.
absl::StatusOr<std::vector<AvaAction>> ParseAvaTruth(absl::string_view text,
                                                     absl::string_view what);

// The keyframes of such a text, also those where nobody does anything.
absl::StatusOr<std::set<AvaFrame>> ParseAvaKeyframes(absl::string_view text,
                                                     absl::string_view what);

// video, seconds, x_min, y_min, x_max, y_max, action, score.
absl::StatusOr<std::vector<AvaAction>> ParseAvaFindings(absl::string_view text,
                                                        absl::string_view what);

// video, seconds: keyframes that are not judged.
absl::StatusOr<std::set<AvaFrame>> ParseAvaExclusions(absl::string_view text,
                                                      absl::string_view what);

}  // namespace scanline::cli
