#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/ava_csv.h"
#include "client/cli/ava_fit.h"
#include "client/cli/ava_run.h"
#include "client/cli/ava_score.h"
#include "client/cli/clip_run.h"
#include "client/cli/csv.h"
#include "client/cli/eval_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/report_json.h"
#include "client/cli/same_file.h"
#include "client/cli/table.h"
#include "client/cli/text_file.h"
#include "client/cli/verbs.h"
#include "client/render/atomic_file.h"

namespace scanline::cli {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::map<int, std::string>;  // of actions

// A keyframe of the truth that was not looked at.
struct LeftOut {
  AvaFrame frame;
  int64_t rows = 0;  // of the truth
  std::string reason;
};

struct Report {
  Args::Eval files;
  AvaScores scores;
  Names names;        // of --actions, else the model's
  std::string model;  // resource name; empty: the detections were there before
  std::map<std::string, std::string> skipped;  // videos without an answer, and why
  size_t videos = 0;                           // with those
  std::vector<LeftOut> left_out;
  size_t rows = 0;  // of the truth, with those
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  return ReadTextFile("the file", path, kMostRowsBytes);
}

// A line an action: its number, its name and, where it says so, 1 if it is judged or 0, with tabs
// between them (assets/labels/ava.tsv).
absl::StatusOr<Names> ParseActions(const std::string& text, const std::string& what) {
  Names names;
  std::map<int, int> lines;  // of each action
  int number = 0;
  for (absl::string_view line : absl::StrSplit(absl::StripPrefix(text, "\xEF\xBB\xBF"), '\n')) {
    ++number;
    line = absl::StripSuffix(line, "\r");
    if (line.empty()) continue;
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    int action = 0;
    const bool judged = fields.size() < 3 || fields[2] == "1";
    if (fields.size() < 2 || !absl::SimpleAtoi(fields[0], &action) ||
        (fields.size() > 2 && fields[2] != "0" && fields[2] != "1")) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, ", line ", number, ": expected number<tab>name[<tab>0|1], found \"", line, "\""));
    }
    if (const auto [first, is_new] = lines.emplace(action, number); !is_new) {
      return absl::InvalidArgumentError(absl::StrCat(what, ", line ", number, ": action ", action,
                                                     " is in line ", first->second, " already"));
    }
    if (judged) names[action] = fields[1];
  }
  if (names.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " names no action"));
  return names;
}

// In the report's folder.
constexpr char kFound[] = "/detections.csv";
constexpr char kSummary[] = "/summary.json";

std::vector<NamedFile> FilesWritten(const Args::Eval& a) {
  if (a.output.empty()) return {};
  std::vector<NamedFile> files = {{"-o", a.output + kSummary}};
  if (!a.clips.empty()) files.push_back({"-o", a.output + kFound});
  return files;
}

struct Truth {
  std::vector<AvaAction> actions;
  std::set<AvaFrame> keyframes;  // also those where nobody does anything
};

absl::StatusOr<Truth> ReadTruth(const std::string& path) {
  Truth truth;
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  SCANLINE_ASSIGN_OR_RETURN(truth.actions, ParseAvaTruth(text, path));
  SCANLINE_ASSIGN_OR_RETURN(truth.keyframes, ParseAvaKeyframes(text, path));
  return truth;
}

// Finds, into the detections.csv of the report's folder. To the exit code where that ends early.
absl::StatusOr<int> Find(const Args& args, const Terminal& terminal, Interrupt& interrupt,
                         Truth& truth, Report& report) {
  const std::string& folder = args.eval.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  }
  report.files.detections = folder + kFound;
  SCANLINE_ASSIGN_OR_RETURN(
      AvaRun run, DetectForAva(args, terminal, interrupt, truth.actions, truth.keyframes));
  if (run.exit_code != kExitOk) return run.exit_code;
  SCANLINE_RETURN_IF_ERROR(render::WriteFileWhole(report.files.detections, run.findings));
  report.model = std::move(run.model);
  report.names = std::move(run.names);
  report.skipped = std::move(run.skipped);
  std::set<std::string> videos;
  for (const AvaFrame& frame : truth.keyframes) videos.insert(frame.first);
  report.videos = videos.size();
  report.rows = truth.actions.size();
  std::map<AvaFrame, int64_t> rows;
  for (const AvaAction& action : truth.actions) ++rows[action.frame];
  for (const auto& [frame, reason] : run.left_out) {
    report.left_out.push_back({frame, rows[frame], reason});
  }
  // What was not looked at counts neither as right nor as wrong.
  truth.actions.erase(std::remove_if(truth.actions.begin(), truth.actions.end(),
                                     [&](const AvaAction& action) {
                                       return report.skipped.count(action.frame.first) > 0 ||
                                              run.left_out.count(action.frame) > 0;
                                     }),
                      truth.actions.end());
  return kExitOk;
}

absl::Status Score(const Truth& truth, Report& report) {
  const Args::Eval& a = report.files;
  AvaOptions options;
  SCANLINE_ASSIGN_OR_RETURN(const std::string findings_text, ReadFile(a.detections));
  SCANLINE_ASSIGN_OR_RETURN(const auto findings, ParseAvaFindings(findings_text, a.detections));
  if (!a.exclude.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadFile(a.exclude));
    SCANLINE_ASSIGN_OR_RETURN(options.excluded, ParseAvaExclusions(text, a.exclude));
  }
  if (!a.actions.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadFile(a.actions));
    SCANLINE_ASSIGN_OR_RETURN(report.names, ParseActions(text, a.actions));
    for (const auto& [action, name] : report.names) options.actions.insert(action);
  }
  SCANLINE_ASSIGN_OR_RETURN(const auto warnings, CheckAvaFit({a.truth, a.detections}, truth.actions,
                                                             truth.keyframes, findings, options));
  for (const std::string& warning : warnings) SayOnError(warning);
  report.scores = ScoreAva(truth.actions, findings, options);
  return absl::OkStatus();
}

std::string NameOf(const Report& report, int action) {
  const auto found = report.names.find(action);
  return found == report.names.end() ? absl::StrCat("#", action) : found->second;
}

int64_t Happening(const AvaScores& scores) {
  int64_t count = 0;
  for (const AvaActionScores& row : scores.actions) count += row.truths > 0 ? 1 : 0;
  return count;
}

std::string Percent(double share) {
  return std::isfinite(share) ? absl::StrFormat("%.2f", 100 * share) : "-";
}

std::string ToTable(const Report& report, bool color) {
  const AvaScores& scores = report.scores;
  std::vector<std::vector<std::string>> cells;
  for (const AvaActionScores& row : scores.actions) {
    cells.push_back({absl::StrCat(row.action), NameOf(report, row.action),
                     Percent(row.average_precision), absl::StrCat(row.truths),
                     absl::StrCat(row.found), absl::StrCat(row.right)});
  }
  return absl::StrCat(
      absl::StrFormat("frame mAP at IoU 0.5  %s %%  over %d actions and %d keyframes\n\n",
                      Percent(scores.mean_average_precision), Happening(scores), scores.frames),
      WholeTable({{"ID", 0, Align::kRight},
                  {"ACTION"},
                  {"AP %", 0, Align::kRight},
                  {"TRUE", 0, Align::kRight},
                  {"FOUND", 0, Align::kRight},
                  {"RIGHT", 0, Align::kRight}},
                 cells, color));
}

std::string ToCsv(const Report& report) {
  std::string out =
      CsvLine({"action", "label", "average_precision", "truths", "detections", "right"});
  for (const AvaActionScores& row : report.scores.actions) {
    const bool happens = std::isfinite(row.average_precision);
    out += CsvLine({absl::StrCat(row.action), NameOf(report, row.action),
                    happens ? CsvNumber(row.average_precision) : "", absl::StrCat(row.truths),
                    absl::StrCat(row.found), absl::StrCat(row.right)});
  }
  return out;
}

Json RunJson(const Report& report) {
  Json json;
  json["model"] = std::string(absl::StripPrefix(report.model, "models/"));
  json["clips"] = report.files.clips;
  json["true_boxes"] = report.files.true_boxes;
  json["videos"] = report.videos;
  json["skipped"] = Json::array();
  for (const auto& [video, reason] : report.skipped) {
    json["skipped"].push_back({{"video", video}, {"reason", reason}});
  }
  json["left_out"] = Json::array();
  for (const LeftOut& one : report.left_out) {
    json["left_out"].push_back({{"video", one.frame.first},
                                {"seconds", static_cast<double>(one.frame.second) / 1000},
                                {"rows", one.rows},
                                {"reason", one.reason}});
  }
  return json;
}

std::string ToJson(const Report& report, int indent) {
  const AvaScores& scores = report.scores;
  Json json;
  json["format"] = 1;
  json["task"] = "ava";
  json["truth"] = report.files.truth;
  json["detections"] = report.files.detections;
  json["exclude"] = report.files.exclude;
  json["actions_file"] = report.files.actions;
  json["min_iou"] = AvaOptions().min_iou;
  json["frame_map"] = NumberJson(scores.mean_average_precision);
  json["actions_that_happen"] = Happening(scores);
  json["keyframes"] = scores.frames;
  json["excluded_rows"] = scores.excluded_rows;
  if (!report.model.empty()) json.update(RunJson(report));
  json["actions"] = Json::array();
  for (const AvaActionScores& row : scores.actions) {
    json["actions"].push_back({{"action", row.action},
                               {"label", NameOf(report, row.action)},
                               {"average_precision", NumberJson(row.average_precision)},
                               {"truths", row.truths},
                               {"detections", row.found},
                               {"right", row.right}});
  }
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void SayWhatIsMissing(const Report& report) {
  if (!report.skipped.empty()) {
    SayOnError(absl::StrCat(report.skipped.size(), " of ", report.videos, " clips skipped"));
  }
  if (report.left_out.empty()) return;
  int64_t rows = 0;
  for (const LeftOut& one : report.left_out) rows += one.rows;
  SayOnError(absl::StrCat(rows, " of ", report.rows, " rows of ", report.files.truth,
                          " left out: nothing was looked at there"));
}

int Fail(const absl::Status& status, int exit_code) {
  SayOnError(status.message());
  return exit_code;
}

}  // namespace

int RunEvalAva(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const absl::Status can_write = CheckWritten(FilesWritten(args.eval), FilesRead(args, {}));
  if (!can_write.ok()) return Fail(can_write, kExitUsage);
  auto truth = ReadTruth(args.eval.truth);
  if (!truth.ok()) return Fail(truth.status(), kExitUsage);
  Report report;
  report.files = args.eval;
  if (!args.eval.clips.empty()) {
    const absl::StatusOr<int> found = Find(args, terminal, interrupt, *truth, report);
    if (!found.ok()) return Fail(found.status(), kExitUsage);
    if (*found != kExitOk) return *found;
  }
  const absl::Status scored = Score(*truth, report);
  if (!scored.ok()) return Fail(scored, kExitUsage);
  if (Happening(report.scores) == 0) {
    SayOnError(absl::StrCat(args.eval.truth, " has no action that is judged: no mAP"));
  }
  if (const std::string& folder = args.eval.output; !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const absl::Status written = render::WriteFileWhole(folder + kSummary, ToJson(report, 1));
    if (!written.ok()) return Fail(written, kExitInputFailed);
  }
  const int given = GiveReport(args, terminal, nullptr,
                               {.table = [&](bool color) { return ToTable(report, color); },
                                .csv = [&] { return ToCsv(report); },
                                .json = [&](int indent) { return ToJson(report, indent); }});
  if (given != kExitOk || (report.skipped.empty() && report.left_out.empty())) return given;
  SayWhatIsMissing(report);
  return kExitInputFailed;
}

}  // namespace scanline::cli
