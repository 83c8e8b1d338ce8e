#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace scanline::cli {

// A keyframe: the video, and milliseconds into it (AVA numbers its keyframes by whole seconds).
using AvaFrame = std::pair<std::string, int64_t>;

// What one person does at one keyframe: true, or found.
struct AvaAction {
  AvaFrame frame;
  double x_min = 0;  // sides of the box, in any unit that truth and findings share
  double y_min = 0;
  double x_max = 0;
  double y_max = 0;
  int action = 0;
  double score = 1;  // of a finding
};

struct AvaOptions {
  double min_iou = 0.5;         // a finding is right from here on
  std::set<int> actions;        // that are judged; empty: all
  std::set<AvaFrame> excluded;  // keyframes that are not judged
};

struct AvaActionScores {
  int action = 0;
  double average_precision = 0;  // not a number where the action never happens
  int64_t truths = 0;
  int64_t found = 0;  // findings
  int64_t right = 0;  // of them
};

struct AvaScores {
  double mean_average_precision = 0;     // over the actions that happen; else not a number
  std::vector<AvaActionScores> actions;  // those that happen or are found, by number
  int64_t frames = 0;                    // judged: with a truth or a finding of a judged action
  int64_t excluded_rows = 0;             // truths and findings of excluded keyframes
};

// Frame mAP as the ActivityNet evaluation of AVA has it (PASCAL VOC, average precision over all
// points): at each keyframe an action's findings, best first, are right where the true box that
// they overlap most is overlapped by min_iou at least and was not found yet. Precision, made
// non-increasing from the right, is summed over the steps of recall. Findings with an empty box do
// not count; of equal scores the earlier row comes first.
AvaScores ScoreAva(absl::Span<const AvaAction> truths, absl::Span<const AvaAction> findings,
                   const AvaOptions& options);

}  // namespace scanline::cli
