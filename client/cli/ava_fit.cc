#include "client/cli/ava_fit.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace scanline::cli {
namespace {

// What one file has of something, with the number of its rows.
template <typename Key>
using Rows = std::map<Key, size_t>;

struct Side {
  Rows<std::string> videos;
  Rows<AvaFrame> keyframes;
  Rows<int> actions;

  void Add(const AvaFrame& frame) {
    ++videos[frame.first];
    ++keyframes[frame];
  }
};

bool IsJudged(const AvaAction& row, const AvaOptions& options) {
  return options.excluded.count(row.frame) == 0 &&
         (options.actions.empty() || options.actions.count(row.action) != 0);
}

Side SideOf(absl::Span<const AvaAction> rows, const AvaOptions& options) {
  Side side;
  for (const AvaAction& row : rows) {
    if (!IsJudged(row, options)) continue;
    side.Add(row.frame);
    ++side.actions[row.action];
  }
  return side;
}

template <typename Key>
Rows<Key> OnlyIn(const Rows<Key>& some, const Rows<Key>& others) {
  Rows<Key> only;
  for (const auto& row : some) {
    if (others.count(row.first) == 0) only.insert(row);
  }
  return only;
}

// Neither is empty.
template <typename Key>
bool HaveNothingInCommon(const Rows<Key>& some, const Rows<Key>& others) {
  return OnlyIn(some, others).size() == some.size();
}

std::string Quoted(const std::string& video) { return absl::StrCat("\"", video, "\""); }

std::string TextOf(const AvaFrame& frame) {
  return absl::StrCat(static_cast<double>(frame.second) / 1000, " s of ", Quoted(frame.first));
}

bool Overlap(const AvaAction& a, const AvaAction& b) {
  return std::max(a.x_min, b.x_min) < std::min(a.x_max, b.x_max) &&
         std::max(a.y_min, b.y_min) < std::min(a.y_max, b.y_max);
}

std::string TextOf(const AvaAction& row) {
  return absl::StrCat("[", row.x_min, " ", row.y_min, " ", row.x_max, " ", row.y_max, "] at ",
                      TextOf(row.frame));
}

// A warning where both have boxes at some keyframe, and none of one's overlaps one of the other's.
std::optional<std::string> NoOverlap(const AvaFiles& files, absl::Span<const AvaAction> truths,
                                     absl::Span<const AvaAction> findings,
                                     const AvaOptions& options) {
  std::map<AvaFrame, std::vector<const AvaAction*>> of_frame;
  for (const AvaAction& row : truths) {
    if (IsJudged(row, options)) of_frame[row.frame].push_back(&row);
  }
  std::optional<std::string> example;
  for (const AvaAction& found : findings) {
    const auto frame = IsJudged(found, options) ? of_frame.find(found.frame) : of_frame.end();
    if (frame == of_frame.end()) continue;
    for (const AvaAction* truth : frame->second) {
      if (Overlap(*truth, found)) return std::nullopt;
    }
    if (example) continue;
    example = absl::StrCat("no box of ", files.findings, " overlaps one of ", files.truth,
                           " at the same keyframe: expected such as ",
                           TextOf(*frame->second.front()), ", found ", TextOf(found));
  }
  return example;
}

size_t RowsOf(const Rows<std::string>& videos) {
  size_t rows = 0;
  for (const auto& video : videos) rows += video.second;
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckAvaFit(const AvaFiles& files,
                                                     absl::Span<const AvaAction> truths,
                                                     const std::set<AvaFrame>& keyframes,
                                                     absl::Span<const AvaAction> findings,
                                                     const AvaOptions& options) {
  std::vector<std::string> warnings;
  const Side happens = SideOf(truths, options);
  if (happens.videos.empty()) return warnings;  // There is no mAP, which is said elsewhere.
  Side known = happens;
  for (const AvaFrame& frame : keyframes) known.Add(frame);
  const Side found = SideOf(findings, options);
  if (found.videos.empty()) {
    return std::vector<std::string>{
        absl::StrCat(files.findings, " has no detection", findings.empty() ? "" : " that is judged",
                     ": all that ", files.truth, " has counts as missed")};
  }
  if (HaveNothingInCommon(found.videos, known.videos)) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.findings, " has no video of ", files.truth, ": expected names such as ",
                     Quoted(known.videos.begin()->first), ", found names such as ",
                     Quoted(found.videos.begin()->first)));
  }
  if (const auto only = OnlyIn(found.videos, known.videos); !only.empty()) {
    warnings.push_back(absl::StrCat(only.size(), " of ", found.videos.size(), " videos of ",
                                    files.findings, " are not in ", files.truth, ", such as ",
                                    Quoted(only.begin()->first), ": their ", RowsOf(only),
                                    " rows count as wrong"));
  }
  if (const auto only = OnlyIn(happens.videos, found.videos); !only.empty()) {
    warnings.push_back(absl::StrCat(only.size(), " of ", happens.videos.size(), " videos of ",
                                    files.truth, " are not in ", files.findings, ", such as ",
                                    Quoted(only.begin()->first), ": their ", RowsOf(only),
                                    " rows count as missed"));
  }
  if (HaveNothingInCommon(found.keyframes, known.keyframes)) {
    warnings.push_back(absl::StrCat(files.findings, " has no keyframe of ", files.truth,
                                    ": expected such as ", TextOf(known.keyframes.begin()->first),
                                    ", found such as ", TextOf(found.keyframes.begin()->first)));
  }
  if (HaveNothingInCommon(found.actions, happens.actions)) {
    warnings.push_back(absl::StrCat(files.findings, " has no action of ", files.truth,
                                    ": expected numbers such as ", happens.actions.begin()->first,
                                    ", found such as ", found.actions.begin()->first));
  }
  if (auto warning = NoOverlap(files, truths, findings, options)) {
    warnings.push_back(*std::move(warning));
  }
  return warnings;
}

}  // namespace scanline::cli
