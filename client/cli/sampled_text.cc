#include "client/cli/sampled_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/outcome.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

// The first `first` marks and the last one, or all where no more are left out than the dots need.
std::string Compact(const v1::SamplingReport& report, size_t first) {
  std::vector<std::string> marks;
  const bool times = report.frame_offsets_size() > 0;
  for (const auto& offset : report.frame_offsets()) {
    marks.push_back(absl::StrFormat("%.2f", Seconds(offset)));
  }
  if (!times) {
    for (const uint32_t index : report.frame_indices()) marks.push_back(absl::StrCat("#", index));
  }
  if (marks.empty()) return "";
  const size_t count = marks.size();
  if (count > first + 1) {
    marks.erase(marks.begin() + static_cast<long>(first), marks.end() - 1);
    marks.insert(marks.begin() + static_cast<long>(first), "\xE2\x80\xA6");
  }
  return absl::StrCat(absl::StrJoin(marks, " "), times ? " s (" : " (", count, ")");
}

}  // namespace

std::string SampledText(const v1::SamplingReport& report) { return Compact(report, 2); }

std::string ShortSampledText(const v1::SamplingReport& report, int width) {
  const std::string text = SampledText(report);
  return TextWidth(text) <= width ? text : Compact(report, 1);
}

}  // namespace scanline::cli
