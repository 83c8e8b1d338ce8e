#include <google/protobuf/repeated_ptr_field.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/clip_format.h"
#include "client/cli/sampled_text.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

using Matches = google::protobuf::RepeatedPtrField<v1::TextMatch>;

constexpr int kSampledWidth = 26;    // "0.00 0.10 … 119.90 s (368)"
constexpr int kNarrowestInput = 20;  // "0.00 … 11.90 s (368)" fits under the name.
constexpr int kIndent = 2;           // of what stands under the name, where there is room
constexpr int kUsualLabel = 32;      // Longer labels do not cost the column of sampled times.

std::string Milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return absl::StrFormat("%.*f ms", ms < 9.95 ? 1 : 0, ms);
}

int WidthOf(const std::vector<Column>& columns) {
  int width = 0;
  for (const Column& column : columns) width += column.width + (width > 0 ? column.gap : 0);
  return width;
}

// The clip's name and the labels share what the numbers leave. Where that is too little for a
// column of sampled times, the times go under the name.
struct Layout {
  std::vector<Column> columns;
  bool sampled_column = false;
};

// The columns of the name and the label cut to what there is room for.
Layout Fit(const TableLook& look, int clip, int label, Layout layout) {
  if (look.columns == 0) return layout;
  const int left =
      std::max(kNarrowestInput, look.columns - (WidthOf(layout.columns) - clip - label));
  if (clip + label > left) {
    layout.columns[0].width = std::min(clip, std::max(left - label, left / 2));
    layout.columns[1].width = std::min(label, left - layout.columns[0].width);
  }
  return layout;
}

Layout LayOut(const TableLook& look) {
  const int clip = std::max(look.widest_input, kNarrowestInput);
  const int label = std::max(look.widest_label, 5);
  Layout layout;
  if (look.texts) {
    layout.columns = {{"CLIP", clip, Align::kLeft, Keep::kEnd},
                      {"LABEL", label},
                      {"SCORE", 5, Align::kRight},
                      {"SIMILARITY", 10, Align::kRight},
                      {"TOTAL", 7, Align::kRight}};
    return Fit(look, clip, label, std::move(layout));
  }
  layout.columns = {{"CLIP", clip, Align::kLeft, Keep::kEnd},
                    {"LABEL", label},
                    {"SCORE", 5, Align::kRight},
                    {"SAMPLED", kSampledWidth},
                    {"DECODE", 7, Align::kRight},
                    {"QUEUE", 7, Align::kRight, Keep::kStart, 1},
                    {"INFERENCE", 9, Align::kRight, Keep::kStart, 1},
                    {"TOTAL", 7, Align::kRight, Keep::kStart, 1}};
  const int room = look.columns - (WidthOf(layout.columns) - clip - label);
  layout.sampled_column =
      look.columns == 0 || room >= kNarrowestInput + std::min(label, kUsualLabel);
  if (!layout.sampled_column) {
    layout.columns.erase(layout.columns.begin() + 3);
    layout.columns[3].gap = 1;
  }
  return Fit(look, clip, label, std::move(layout));
}

class ClipTable : public ClipFormat {
 public:
  explicit ClipTable(const TableLook& look)
      : color_(look.color), texts_(look.texts), layout_(LayOut(look)) {}

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) return "";
    const v1::ClipResult& result = *outcome.result;
    std::vector<std::string> left = {outcome.input}, right;
    if (layout_.sampled_column) {
      right.push_back(SampledText(result.sampling(), kSampledWidth));
    } else if (const std::string under = SampledUnderName(result.sampling()); !under.empty()) {
      left.push_back(under);
    }
    const v1::Timing& timing = result.timing();
    if (!texts_) {
      right.push_back(Milliseconds(Seconds(timing.decode())));
      right.push_back(Milliseconds(QueueSeconds(timing)));
      right.push_back(Milliseconds(Seconds(timing.inference())));
    }
    right.push_back(Milliseconds(Seconds(timing.total())));
    std::string out;
    if (!std::exchange(has_head_, true)) out = TableHead(layout_.columns, color_);
    absl::StrAppend(&out, Block(left, result, right));
    for (const v1::WindowResult& window : result.windows()) {
      absl::StrAppend(&out, Block({absl::StrFormat("  %.2f-%.2f s", Seconds(window.start_offset()),
                                                   Seconds(window.end_offset()))},
                                  window, {}));
    }
    return out;
  }

 private:
  std::string SampledUnderName(const v1::SamplingReport& sampling) const {
    const int width = layout_.columns[0].width;
    const std::string text = SampledText(sampling, width);
    if (text.empty()) return "";
    const int indent = std::clamp(width - TextWidth(text), 0, kIndent);
    return std::string(static_cast<size_t>(indent), ' ') + text;
  }

  // `left` goes down the first column, the labels of `answer` (a clip's or a window's) down the
  // second, `right` on the first line only.
  template <typename Answer>
  std::string Block(const std::vector<std::string>& left, const Answer& answer,
                    const std::vector<std::string>& right) const {
    std::string out;
    const auto& classes = answer.classes();
    const size_t labels = static_cast<size_t>(classes.size());
    for (size_t i = 0; i < std::max(left.size(), labels); ++i) {
      std::vector<std::string> cells = {i < left.size() ? left[i] : ""};
      if (i < labels) {
        const v1::ClassScore& c = classes[static_cast<int>(i)];
        const std::string label =
            c.label().empty() ? absl::StrCat("#", c.class_index()) : c.label();
        cells.push_back(label);
        cells.push_back(absl::StrFormat("%.3f", c.score()));
        if (texts_) cells.push_back(Similarity(answer.text_matches(), c));
      } else {
        cells.insert(cells.end(), {i == 0 ? "-" : "", ""});
        if (texts_) cells.emplace_back();
      }
      if (i == 0) cells.insert(cells.end(), right.begin(), right.end());
      absl::StrAppend(&out, TableLine(layout_.columns, cells));
    }
    return out;
  }

  static std::string Similarity(const Matches& matches, const v1::ClassScore& c) {
    const auto index = static_cast<int>(c.class_index());
    return index < matches.size() ? absl::StrFormat("%.3f", matches[index].similarity()) : "";
  }

  bool color_;
  bool texts_;
  Layout layout_;
  bool has_head_ = false;
};

}  // namespace

std::unique_ptr<ClipFormat> MakeTable(const TableLook& look) {
  return std::make_unique<ClipTable>(look);
}

}  // namespace scanline::cli
