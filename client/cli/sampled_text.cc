#include "client/cli/sampled_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/outcome.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

constexpr char kDots[] = "\xE2\x80\xA6";

using Marks = std::vector<std::string>;

// Each distinct time, or number where there are no times, in order.
Marks MarksOf(const v1::SamplingReport& report) {
  Marks marks;
  if (report.frame_offsets_size() > 0) {
    std::set<double> times;
    for (const auto& offset : report.frame_offsets()) times.insert(Seconds(offset));
    for (const double time : times) marks.push_back(absl::StrFormat("%.2f", time));
  } else {
    const std::set<uint32_t> indices(report.frame_indices().begin(), report.frame_indices().end());
    for (const uint32_t index : indices) marks.push_back(absl::StrCat("#", index));
  }
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  return marks;
}

// The first `first` marks and the last one, or all where no more are left out than the dots need.
std::string Compact(const Marks& marks, size_t first) {
  if (marks.size() <= first + 1) return absl::StrJoin(marks, " ");
  Marks some(marks.begin(), marks.begin() + static_cast<long>(first));
  some.insert(some.end(), {kDots, marks.back()});
  return absl::StrJoin(some, " ");
}

}  // namespace

std::string SampledText(const v1::SamplingReport& report, int width) {
  const Marks marks = MarksOf(report);
  if (marks.empty()) return "";
  const bool times = report.frame_offsets_size() > 0;
  const std::string count =
      absl::StrCat("(", times ? report.frame_offsets_size() : report.frame_indices_size(), ")");
  for (const size_t first : {2, 1}) {
    const std::string text = absl::StrCat(Compact(marks, first), times ? " s " : " ", count);
    if (TextWidth(text) <= width) return text;
  }
  return count;
}

}  // namespace scanline::cli
