#include "client/cli/detect_format.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/csv.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

constexpr int kNarrowestInput = 16;

std::string LabelOf(const v1::ClassScore& c) {
  return c.label().empty() ? absl::StrCat("#", c.class_index()) : c.label();
}

class DetectCsv : public ClipFormat {
 public:
  std::string Head() override {
    return CsvLine({"input", "time", "x_min", "y_min", "x_max", "y_max", "track_id", "person_score",
                    "label", "score", "class_index", "model", "error"});
  }

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) {
      const ClientError error = ErrorOf(outcome.result.status());
      const std::string reason =
          error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
      return CsvLine({outcome.input, "", "", "", "", "", "", "", "", "", "", "", reason});
    }
    std::string rows;
    for (const v1::ActionDetection& d : outcome.result->detections()) {
      const std::vector<std::string> person = {outcome.input,
                                               CsvNumber(Seconds(d.keyframe_offset())),
                                               CsvNumber(d.box().x_min()),
                                               CsvNumber(d.box().y_min()),
                                               CsvNumber(d.box().x_max()),
                                               CsvNumber(d.box().y_max()),
                                               absl::StrCat(d.track_id()),
                                               CsvNumber(d.person_score())};
      const auto add = [&](const std::vector<std::string>& action) {
        std::vector<std::string> fields = person;
        fields.insert(fields.end(), action.begin(), action.end());
        fields.insert(fields.end(), {outcome.result->model(), ""});
        rows += CsvLine(fields);
      };
      if (d.classes().empty()) add({"", "", ""});
      for (const v1::ClassScore& c : d.classes()) {
        add({c.label(), CsvNumber(c.score()), absl::StrCat(c.class_index())});
      }
    }
    return rows;
  }
};

std::vector<Column> LayOut(const TableLook& look, bool tracks) {
  std::vector<Column> columns = {
      {"CLIP", std::max(look.widest_input, kNarrowestInput), Align::kLeft, Keep::kEnd},
      {"SECOND", 8, Align::kRight},
      {"PERSON", 6, Align::kRight},
      {"BOX", 19},
      {"ACTION", std::max(look.widest_label, 6)},
      {"SCORE", 5, Align::kRight}};
  if (tracks) columns.insert(columns.begin() + 2, {"TRACK", 5, Align::kRight});
  if (look.columns == 0) return columns;
  int others = 0;
  for (size_t i = 1; i < columns.size(); ++i) others += columns[i].width + columns[i].gap;
  Column& action = columns[columns.size() - 2];
  // The name and the action share what the numbers leave.
  const int room = std::max(2 * kNarrowestInput, look.columns - others + action.width);
  if (columns[0].width + action.width > room) {
    columns[0].width = std::min(columns[0].width, std::max(room - action.width, room / 2));
    action.width = std::min(action.width, room - columns[0].width);
  }
  return columns;
}

class DetectTable : public ClipFormat {
 public:
  DetectTable(const TableLook& look, bool tracks)
      : color_(look.color), tracks_(tracks), columns_(LayOut(look, tracks)) {}

  std::string Row(const Outcome& outcome) override {
    if (!outcome.result.ok()) return "";
    std::string out;
    if (!std::exchange(has_head_, true)) out = TableHead(columns_, color_);
    if (outcome.result->detections().empty()) {
      return absl::StrCat(out, TableLine(columns_, {outcome.input, "-"}));
    }
    std::string name = outcome.input;
    for (const v1::ActionDetection& d : outcome.result->detections()) {
      absl::StrAppend(&out, PersonRows(std::exchange(name, ""), d));
    }
    return out;
  }

 private:
  std::string PersonRows(const std::string& name, const v1::ActionDetection& d) const {
    const v1::BoundingBox& box = d.box();
    std::vector<std::string> cells = {name, absl::StrFormat("%.2f", Seconds(d.keyframe_offset()))};
    if (tracks_) cells.push_back(d.track_id() == 0 ? "-" : absl::StrCat(d.track_id()));
    cells.push_back(absl::StrFormat("%.2f", d.person_score()));
    cells.push_back(
        absl::StrFormat("%.2f %.2f %.2f %.2f", box.x_min(), box.y_min(), box.x_max(), box.y_max()));
    if (d.classes().empty()) {
      cells.emplace_back("-");
      return TableLine(columns_, cells);
    }
    std::string out;
    for (const v1::ClassScore& c : d.classes()) {
      std::vector<std::string> line = cells;
      line.insert(line.end(), {LabelOf(c), absl::StrFormat("%.3f", c.score())});
      out += TableLine(columns_, line);
      for (std::string& cell : cells) cell.clear();
    }
    return out;
  }

  const bool color_;
  const bool tracks_;
  const std::vector<Column> columns_;
  bool has_head_ = false;
};

}  // namespace

std::unique_ptr<ClipFormat> MakeDetectCsv() { return std::make_unique<DetectCsv>(); }

std::unique_ptr<ClipFormat> MakeDetectTable(const TableLook& look, bool tracks) {
  return std::make_unique<DetectTable>(look, tracks);
}

}  // namespace scanline::cli
