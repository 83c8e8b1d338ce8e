#include "client/cli/eval_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/csv.h"
#include "client/cli/json.h"
#include "client/cli/outcome.h"
#include "client/cli/report_json.h"
#include "client/cli/table.h"

namespace scanline::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a terminal shows of long lists; the files have all of it.
constexpr size_t kMostClasses = 40;
constexpr size_t kMostPairs = 10;
constexpr size_t kMostSkipped = 20;

std::string LabelOf(const v1::Model& model, int index) {
  if (index < 0 || index >= model.labels_size()) return absl::StrCat("#", index);
  return model.labels(index);
}

Json ClassJson(const v1::Model& model, const ClassScores& row) {
  return {{"class_index", row.class_index},
          {"label", LabelOf(model, row.class_index)},
          {"clips", row.clips},
          {"top1", row.top1},
          {"top5", row.top5}};
}

std::string Percent(double share) {
  return std::isfinite(share) ? absl::StrFormat("%.1f", 100 * share) : "-";
}

std::string ShareLine(const char* name, const Share& share) {
  return absl::StrFormat("%-11s %5s %%  [%s, %s]  %d of %d\n", name, Percent(share.value),
                         Percent(share.low), Percent(share.high), share.right, share.of);
}

std::string ClassTable(const EvalReport& report, bool color) {
  std::vector<ClassScores> rows = report.scores.classes;
  const size_t all = rows.size();
  if (all > kMostClasses) {  // The worst ones.
    std::stable_sort(rows.begin(), rows.end(), [](const ClassScores& a, const ClassScores& b) {
      return a.top1 * b.clips < b.top1 * a.clips;
    });
    rows.resize(kMostClasses);
  }
  std::vector<std::vector<std::string>> cells;
  for (const ClassScores& row : rows) {
    cells.push_back({LabelOf(report.model, row.class_index), absl::StrCat(row.clips),
                     Percent(static_cast<double>(row.top1) / row.clips),
                     Percent(static_cast<double>(row.top5) / row.clips)});
  }
  return absl::StrCat(WholeTable({{"CLASS"},
                                  {"CLIPS", 0, Align::kRight},
                                  {"TOP-1 %", 0, Align::kRight},
                                  {"TOP-5 %", 0, Align::kRight}},
                                 cells, color),
                      MoreText(all, cells.size(), "classes, these are the worst"));
}

std::string ConfusionTable(const EvalReport& report, bool color) {
  if (report.scores.confusions.empty()) return "";
  std::vector<std::vector<std::string>> cells;
  for (const Confusion& pair : report.scores.confusions) {
    if (cells.size() == kMostPairs) break;
    cells.push_back({LabelOf(report.model, pair.truth), LabelOf(report.model, pair.taken_for),
                     absl::StrCat(pair.clips.size()), pair.clips[0]});
  }
  return absl::StrCat(
      "\n",
      WholeTable({{"CLASS"}, {"TAKEN FOR"}, {"TIMES", 0, Align::kRight}, {"FOR EXAMPLE"}}, cells,
                 color),
      MoreText(report.scores.confusions.size(), cells.size(), "pairs"));
}

std::string SkippedText(const EvalReport& report) {
  if (report.skipped.empty()) return "";
  std::string text = absl::StrCat("\nskipped, neither right nor wrong: ", report.skipped.size(),
                                  " of ", report.skipped.size() + report.scores.top1.of, "\n");
  for (size_t i = 0; i < std::min(kMostSkipped, report.skipped.size()); ++i) {
    const Prediction& clip = report.skipped[i];
    absl::StrAppend(&text, "  ", PrintableText(clip.path), ": ",
                    PrintableText(Sentence(*clip.error)), "\n");
  }
  return absl::StrCat(text, MoreText(report.skipped.size(), kMostSkipped, "skipped clips"));
}

}  // namespace

EvalReport MakeReport(const v1::Model& model, const v1::AnalysisSpec& spec,
                      const std::string& manifest, const std::vector<Prediction>& predictions) {
  EvalReport report{model, spec, manifest, {}, {}, {}};
  std::vector<JudgedClip> clips;
  for (const Prediction& prediction : predictions) {
    if (prediction.error.has_value()) {
      report.skipped.push_back(prediction);
      continue;
    }
    if (!prediction.warnings.empty()) report.warned.push_back(prediction);
    clips.push_back({prediction.path, prediction.class_index, prediction.ranked});
  }
  report.scores = ScoreClips(clips);
  return report;
}

std::string ReportJson(const EvalReport& report, int indent) {
  const Scores& scores = report.scores;
  Json json;
  json["format"] = 1;
  json["task"] = "classify";
  json["model"] = {{"name", std::string(absl::StripPrefix(report.model.name(), "models/"))},
                   {"version", report.model.version()},
                   {"weights_sha256", report.model.weights_sha256()},
                   {"precision", report.model.precision()},
                   {"classes", report.model.labels_size()}};
  json["settings"] = Json::parse(ProtoJson(report.spec));
  json["manifest"] = report.manifest;
  json["clips"] = scores.top1.of + static_cast<int>(report.skipped.size());
  json["scored"] = scores.top1.of;
  json["top1"] = ShareJson(scores.top1);
  json["top5"] = ShareJson(scores.top5);
  json["mean_class_top1"] = NumberJson(scores.mean_class);
  json["classes"] = Json::array();
  for (const ClassScores& row : scores.classes) {
    json["classes"].push_back(ClassJson(report.model, row));
  }
  json["confusions"] = Json::array();
  for (const Confusion& pair : scores.confusions) {
    json["confusions"].push_back({{"label", LabelOf(report.model, pair.truth)},
                                  {"taken_for", LabelOf(report.model, pair.taken_for)},
                                  {"times", pair.clips.size()},
                                  {"clips", pair.clips}});
  }
  std::map<std::string, int> reasons;
  json["skipped"] = Json::array();
  for (const Prediction& clip : report.skipped) {
    ++reasons[clip.error->reason];
    json["skipped"].push_back({{"input", clip.path},
                               {"label", LabelOf(report.model, clip.class_index)},
                               {"reason", clip.error->reason},
                               {"message", clip.error->message}});
  }
  json["skipped_by_reason"] = reasons;
  json["answered_with_warning"] = Json::array();
  for (const Prediction& clip : report.warned) {
    json["answered_with_warning"].push_back({{"input", clip.path}, {"reasons", clip.warnings}});
  }
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ReportCsv(const EvalReport& report) {
  std::string out = CsvLine({"class_index", "label", "clips", "top1", "top5"});
  for (const ClassScores& row : report.scores.classes) {
    absl::StrAppend(
        &out, CsvLine({absl::StrCat(row.class_index), LabelOf(report.model, row.class_index),
                       absl::StrCat(row.clips), absl::StrCat(row.top1), absl::StrCat(row.top5)}));
  }
  return out;
}

std::string ReportTable(const EvalReport& report, bool color) {
  const Scores& scores = report.scores;
  return absl::StrCat(ShareLine("top-1", scores.top1), ShareLine("top-5", scores.top5),
                      absl::StrFormat("%-11s %5s %%  over %d of %d classes\n\n", "mean class",
                                      Percent(scores.mean_class), scores.classes.size(),
                                      report.model.labels_size()),
                      ClassTable(report, color), ConfusionTable(report, color),
                      SkippedText(report));
}

}  // namespace scanline::cli
