#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/ava_score.h"

namespace scanline::cli {

// The files of the AVA dataset and its challenge: CSV without a header, boxes in 0..1 of the
// picture; what is outside of it by 0.01 or less is moved to its edge. `what` names the text in
// errors, which name the line too: what is no number, a side further outside, sides the wrong way
// round, a true box of no size (one that was found may have none), a time below 0, a score outside
// of 0..1.

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
