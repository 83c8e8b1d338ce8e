#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/boxes_file.h"
#include "client/cli/clip_run.h"
#include "client/cli/detect_format.h"
#include "client/cli/exit_code.h"
#include "client/cli/inputs.h"
#include "client/cli/save.h"
#include "client/cli/save_name.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

std::unique_ptr<ClipFormat> MakeFormat(const Args& args, const Terminal& terminal,
                                       const std::vector<std::string>& files,
                                       const v1::Model& model) {
  const Format format = ResolveFormat(args.format, terminal);
  if (format == Format::kNdjson) return MakeNdjson(args.include_logits, /*detections=*/true);
  if (format == Format::kJson) return MakeJson(args.include_logits, /*detections=*/true);
  if (format == Format::kCsv) return MakeDetectCsv();
  TableLook look{.columns = terminal.columns, .color = UseColor(args.color, terminal)};
  for (const std::string& file : files) {
    look.widest_input = std::max(look.widest_input, TextWidth(PrintableText(file)));
  }
  for (const std::string& label : model.labels()) {
    look.widest_label = std::max(look.widest_label, TextWidth(PrintableText(label)));
  }
  return MakeDetectTable(look, args.detect.tracks);
}

// The judges of AVA's files rank all actions; without --top-k such a file has them, and whatever
// else the run gives the best ones.
bool SavesAllActions(const Args& args) {
  return !args.detect.top_k &&
         std::any_of(args.save.begin(), args.save.end(),
                     [](const std::string& file) { return SaveAsOf(file) == SaveAs::kAvaCsv; });
}

void KeepTopActions(v1::ClipResult& result) {
  for (v1::ActionDetection& detection : *result.mutable_detections()) {
    auto& actions = *detection.mutable_classes();  // Best first.
    const int most = std::min(actions.size(), Args::Detect::kTopActions);
    actions.DeleteSubrange(most, actions.size() - most);
  }
}

int Refuse(const absl::Status& status) {
  SayOnError(status.message());
  return kExitUsage;
}

}  // namespace

int RunDetect(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const auto inputs = ExpandInputs(args.inputs);
  if (!inputs.ok()) return Refuse(inputs.status());
  for (const std::string& note : inputs->notes) SayOnError(note);
  const std::vector<std::string>& files = inputs->files;
  const absl::Status can_save = CheckSave(args, files);
  if (!can_save.ok()) return Refuse(can_save);
  v1::AnalysisSpec spec = DetectSpecOf(args);
  const bool all_actions = SavesAllActions(args);
  if (all_actions) spec.mutable_detect()->set_top_k(0);
  if (!args.detect.boxes.empty()) {
    const auto boxes = ReadBoxes(args.detect.boxes);
    if (!boxes.ok()) return Refuse(boxes.status());
    spec.mutable_detect()->mutable_proposals()->Assign(boxes->begin(), boxes->end());
  }
  const auto session = OpenSessionFor(args.server, args.model, v1::TASK_DETECT_ACTIONS);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  ClipRun run(args, terminal, interrupt, static_cast<int>(files.size()),
              MakeFormat(args, terminal, files, session->model));
  std::optional<v1::ClipResult> answer;  // of the one input
  const auto keep = [&](absl::StatusOr<v1::ClipResult>& result) {
    if (!args.save.empty() && result.ok()) answer = *result;
    if (all_actions && result.ok()) KeepTopActions(*result);
  };
  SendClips(args, interrupt, *session, files, spec, run, keep);
  const int exit_code = run.Finish();
  if (exit_code == kExitNoModel && args.detect.boxes.empty()) {
    SayOnError("for people that you know of: --boxes FILE");
  }
  if (exit_code != kExitOk || !answer.has_value()) return exit_code;
  return Save(args, interrupt, files[0], AnnotateDetections(*answer, args.detect.interval_seconds));
}

}  // namespace scanline::cli
