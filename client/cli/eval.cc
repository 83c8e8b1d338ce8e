#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/cli/clip_run.h"
#include "client/cli/eval_folder.h"
#include "client/cli/eval_manifest.h"
#include "client/cli/eval_report.h"
#include "client/cli/eval_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/same_file.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

int Refuse(const absl::Status& status, int exit_code) {
  // As it is: what a message quotes is printable already, and it may have several lines.
  fprintf(stderr, "scanline: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

// The answers so far, by the clip's place in the manifest. Any thread may add one.
class Answers {
 public:
  Answers(const std::vector<ManifestEntry>& entries, const EvalFolder* folder)
      : entries_(entries), folder_(folder) {}

  // Remembers and writes down what became of a clip.
  void Add(size_t place, const std::string& sha256, const absl::StatusOr<v1::ClipResult>& result) {
    const std::string line = PredictionLine(entries_[place], sha256, result);
    auto prediction = ParsePrediction(line);
    const MutexLock lock(mu_);
    if (folder_ != nullptr && written_.ok()) written_ = folder_->Append(line);
    if (prediction.ok()) by_place_[place] = *std::move(prediction);
  }

  void Keep(size_t place, const Prediction& prediction) {
    const MutexLock lock(mu_);
    by_place_[place] = prediction;
  }

  bool Has(size_t place) const {
    const MutexLock lock(mu_);
    return by_place_.count(place) > 0;
  }

  std::vector<Prediction> InOrder() const {
    const MutexLock lock(mu_);
    std::vector<Prediction> all;
    for (const auto& [place, prediction] : by_place_) all.push_back(prediction);
    return all;
  }

  absl::Status written() const {
    const MutexLock lock(mu_);
    return written_;
  }

 private:
  const std::vector<ManifestEntry>& entries_;
  const EvalFolder* const folder_;
  mutable Mutex mu_;
  std::map<size_t, Prediction> by_place_ ABSL_GUARDED_BY(mu_);
  absl::Status written_ ABSL_GUARDED_BY(mu_);
};

// Whether an answer of an earlier run is one for this clip, as it is now.
bool Answered(const Prediction& prediction, const ManifestEntry& entry, const Session& session) {
  return entry.class_index == prediction.class_index && !prediction.sha256.empty() &&
         prediction.sha256 == ContentDigest(entry.file, NotCancelled(session));
}

// Sends the clips that have no answer yet. Returns what ended it before its time, or kExitOk.
int SendAll(const Args& args, const Terminal& terminal, Interrupt& interrupt,
            const Session& session, const v1::AnalysisSpec& spec,
            const std::vector<ManifestEntry>& entries, Answers& answers) {
  std::vector<EvalClip> clips;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!answers.Has(i)) clips.push_back({entries[i].path, entries[i].file, i});
  }
  return AskForClips(
      args, terminal, interrupt, session, clips, entries.size(),
      [&](const EvalClip& clip, const OnSent& on_sent) {
        const auto [sha256, result] = SendDigested(clip.file, *session.client, session.limits, spec,
                                                   absl::Seconds(args.timeout_seconds), on_sent);
        // Written as it comes, not in order: a run that is killed loses no answer it has.
        if (IsAboutTheClip(result.status())) answers.Add(clip.place, sha256, result);
        return result.status();
      },
      [&] { return answers.written(); });
}

int Finish(const Args& args, const Terminal& terminal, const EvalReport& report,
           const EvalFolder* folder) {
  const int given = GiveReport(args, terminal, folder,
                               {.table = [&](bool color) { return ReportTable(report, color); },
                                .csv = [&] { return ReportCsv(report); },
                                .json = [&](int indent) { return ReportJson(report, indent); }});
  if (given != kExitOk || report.skipped.empty()) return given;
  SayOnError(absl::StrCat(report.skipped.size(), " of ",
                          report.skipped.size() + static_cast<size_t>(report.scores.top1.of),
                          " clips skipped"));
  return kExitInputFailed;
}

}  // namespace

int RunEval(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const absl::Status can_write = CheckWritten(FilesOfEval(args.eval.output), FilesRead(args, {}));
  if (!can_write.ok()) return Refuse(can_write, kExitUsage);
  auto entries = ReadManifest(args.eval.manifest);
  if (!entries.ok()) return Refuse(entries.status(), kExitUsage);
  const auto session = OpenSessionFor(args.server, args.model, v1::TASK_CLASSIFY);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  const std::string name(absl::StripPrefix(session->model.name(), "models/"));
  const std::vector<std::string> labels(session->model.labels().begin(),
                                        session->model.labels().end());
  const absl::Status known = ResolveLabels(labels, name, *entries);
  if (!known.ok()) return Refuse(known, kExitUsage);

  const v1::AnalysisSpec spec = SpecOf(args);
  std::map<std::string, size_t> place_of;
  for (size_t i = 0; i < entries->size(); ++i) place_of[(*entries)[i].path] = i;
  std::unique_ptr<EvalFolder> folder;
  std::vector<std::pair<size_t, Prediction>> kept;
  if (!args.eval.output.empty()) {
    // What this manifest does not list is another's and stays; what it lists otherwise is asked
    // again.
    const auto keep = [&](absl::string_view line) -> absl::StatusOr<bool> {
      SCANLINE_ASSIGN_OR_RETURN(const Prediction prediction, ParsePrediction(line));
      const auto place = place_of.find(prediction.path);
      if (!IsFinal(prediction)) return false;
      if (place == place_of.end()) return true;
      if (!Answered(prediction, (*entries)[place->second], *session)) return false;
      kept.emplace_back(place->second, prediction);
      return true;
    };
    auto opened = EvalFolder::Open(args.eval.output, "classify", session->model, spec, keep);
    if (!opened.ok()) return Refuse(opened.status(), kExitUsage);
    folder = *std::move(opened);
  }
  Answers answers(*entries, folder.get());
  for (const auto& [place, prediction] : kept) answers.Keep(place, prediction);

  const int stopped = SendAll(args, terminal, interrupt, *session, spec, *entries, answers);
  const std::vector<Prediction> predictions = answers.InOrder();
  if (stopped != kExitOk) {
    SayOnError(absl::StrCat(
        interrupt.raised() ? "interrupted: " : "stopped: ", entries->size() - predictions.size(),
        " of ", entries->size(), " clips not done",
        folder == nullptr ? "" : "; the same command goes on from here"));
    return stopped;
  }
  return Finish(args, terminal, MakeReport(session->model, spec, args.eval.manifest, predictions),
                folder.get());
}

}  // namespace scanline::cli
