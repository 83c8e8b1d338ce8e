#include "client/cli/ava_score.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

namespace scanline::cli {
namespace {

using Actions = std::vector<const AvaAction*>;

double Area(const AvaAction& box) { return (box.x_max - box.x_min) * (box.y_max - box.y_min); }

double Iou(const AvaAction& a, const AvaAction& b) {
  const double width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const double height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  const double shared = std::max(width, 0.0) * std::max(height, 0.0);
  return shared > 0 ? shared / (Area(a) + Area(b) - shared) : 0;
}

bool HasArea(const AvaAction& box) { return box.x_max > box.x_min && box.y_max > box.y_min; }

struct OfFrame {
  Actions truths;
  Actions findings;
};

struct Judged {
  double score = 0;
  bool right = false;
};

// The findings of one keyframe and action, best first.
void JudgeFrame(const OfFrame& frame, double min_iou, std::vector<Judged>* judged) {
  Actions findings = frame.findings;
  std::stable_sort(findings.begin(), findings.end(),
                   [](const AvaAction* a, const AvaAction* b) { return a->score > b->score; });
  std::vector<bool> taken(frame.truths.size(), false);
  for (const AvaAction* finding : findings) {
    size_t best = 0;
    double best_iou = -1;
    for (size_t i = 0; i < frame.truths.size(); ++i) {
      const double iou = Iou(*finding, *frame.truths[i]);
      if (iou > best_iou) {
        best_iou = iou;
        best = i;
      }
    }
    const bool right = best_iou >= min_iou && !taken[best];
    if (right) taken[best] = true;
    judged->push_back({finding->score, right});
  }
}

double AveragePrecision(std::vector<Judged> judged, int64_t truths) {
  if (truths == 0) return std::numeric_limits<double>::quiet_NaN();
  std::stable_sort(judged.begin(), judged.end(),
                   [](const Judged& a, const Judged& b) { return a.score > b.score; });
  std::vector<double> precision(judged.size());
  int64_t right = 0;
  for (size_t i = 0; i < judged.size(); ++i) {
    right += judged[i].right ? 1 : 0;
    precision[i] = static_cast<double>(right) / static_cast<double>(i + 1);
  }
  double average = 0;
  double highest = 0;
  for (size_t i = judged.size(); i-- > 0;) {
    highest = std::max(highest, precision[i]);
    if (judged[i].right) average += highest / static_cast<double>(truths);
  }
  return average;
}

AvaActionScores ScoreAction(int action, const std::map<AvaFrame, OfFrame>& frames, double min_iou) {
  AvaActionScores scores;
  scores.action = action;
  std::vector<Judged> judged;
  for (const auto& item : frames) {
    scores.truths += static_cast<int64_t>(item.second.truths.size());
    JudgeFrame(item.second, min_iou, &judged);
  }
  scores.found = static_cast<int64_t>(judged.size());
  scores.right =
      std::count_if(judged.begin(), judged.end(), [](const Judged& j) { return j.right; });
  scores.average_precision = AveragePrecision(std::move(judged), scores.truths);
  return scores;
}

}  // namespace

AvaScores ScoreAva(absl::Span<const AvaAction> truths, absl::Span<const AvaAction> findings,
                   const AvaOptions& options) {
  AvaScores scores;
  std::map<int, std::map<AvaFrame, OfFrame>> actions;
  std::set<AvaFrame> frames;
  const auto sort_in = [&](absl::Span<const AvaAction> rows, Actions OfFrame::*list) {
    for (const AvaAction& row : rows) {
      if (options.excluded.count(row.frame) != 0) {
        ++scores.excluded_rows;
        continue;
      }
      if (!options.actions.empty() && options.actions.count(row.action) == 0) continue;
      frames.insert(row.frame);
      if (list == &OfFrame::findings && !HasArea(row)) continue;
      (actions[row.action][row.frame].*list).push_back(&row);
    }
  };
  sort_in(truths, &OfFrame::truths);
  sort_in(findings, &OfFrame::findings);
  scores.frames = static_cast<int64_t>(frames.size());
  double sum = 0;
  int64_t happening = 0;
  for (const auto& [action, of_frames] : actions) {
    scores.actions.push_back(ScoreAction(action, of_frames, options.min_iou));
    if (scores.actions.back().truths == 0) continue;
    sum += scores.actions.back().average_precision;
    ++happening;
  }
  scores.mean_average_precision = happening > 0 ? sum / static_cast<double>(happening)
                                                : std::numeric_limits<double>::quiet_NaN();
  return scores;
}

}  // namespace scanline::cli
