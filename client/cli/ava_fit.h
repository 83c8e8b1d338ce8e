#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/ava_score.h"

namespace scanline::cli {

// Two files of an evaluation, with their names for messages.
struct AvaFiles {
  std::string truth;
  std::string findings;
};

// Whether findings can be those of a truth with these rows and keyframes, as far as they are judged
// (`options`). An error where they have no video in common: nothing could be right, and names are
// most often spelt otherwise. Warnings, for a person: findings without rows, videos that only one
// side has, no keyframe or no action in common, no box that overlaps one of the other side.
absl::StatusOr<std::vector<std::string>> CheckAvaFit(const AvaFiles& files,
                                                     absl::Span<const AvaAction> truths,
                                                     const std::set<AvaFrame>& keyframes,
                                                     absl::Span<const AvaAction> findings,
                                                     const AvaOptions& options);

}  // namespace scanline::cli
