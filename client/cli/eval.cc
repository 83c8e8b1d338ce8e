#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "client/cli/clip_file.h"
#include "client/cli/eval_folder.h"
#include "client/cli/eval_manifest.h"
#include "client/cli/eval_report.h"
#include "client/cli/exit_code.h"
#include "client/cli/ordered_run.h"
#include "client/cli/outcome.h"
#include "client/cli/output.h"
#include "client/cli/progress.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", std::string(text).c_str());
}

int Refuse(const absl::Status& status, int exit_code) {
  SayOnError(status.message());
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

// A clip, and what came back; an error that the next clip would meet too is nothing about the clip.
struct Sent {
  size_t place = 0;
  absl::Status status;
};
bool IsAboutTheClip(const absl::Status& status) {
  return status.ok() || ExitCodeOf(ErrorOf(status)) == kExitInputFailed;
}

ClipFile::GoOn NotCancelled(const Session& session) {
  return [&session]() -> absl::Status {
    if (session.client->cancelled()) return absl::CancelledError("interrupted");
    return absl::OkStatus();
  };
}

// Whether an answer of an earlier run is one for this clip, as it is now.
bool Answered(const Prediction& prediction, const ManifestEntry& entry, const Session& session) {
  return entry.class_index == prediction.class_index && !prediction.sha256.empty() &&
         prediction.sha256 == ContentDigest(entry.file, NotCancelled(session));
}

// Sends the clips that have no answer yet. Returns what ended it before its time, or kExitOk.
int SendAll(const Args& args, const Terminal& terminal, const Interrupt& interrupt,
            const Session& session, const v1::AnalysisSpec& spec,
            const std::vector<ManifestEntry>& entries, Answers& answers) {
  std::vector<size_t> todo;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!answers.Has(i)) todo.push_back(i);
  }
  const int total = static_cast<int>(entries.size());
  int done = total - static_cast<int>(todo.size());
  int failed = 0;
  ExitCode fatal = kExitOk;
  Progress progress(args.progress, MayDrawOver(args.progress, terminal), total);
  progress.Update(done, failed, absl::Now());
  std::atomic<bool> stop{false};
  RunInOrder<Sent>(
      static_cast<int>(todo.size()), args.jobs, stop,
      [&](int i) {
        const size_t place = todo[static_cast<size_t>(i)];
        const auto upload = progress.NewUpload();
        const auto on_sent = [&](uint64_t sent, uint64_t bytes) {
          progress.Sent(upload, sent, bytes, absl::Now());
        };
        // Before it is sent: of a clip that is rewritten meanwhile the answer is not kept for good.
        const std::string sha256 = ContentDigest(entries[place].file, NotCancelled(session));
        const auto result = SendClip(entries[place].file, *session.client, session.limits, spec,
                                     absl::Seconds(args.timeout_seconds), on_sent);
        progress.EndUpload(upload);
        // Written as it comes, not in order: a run that is killed loses no answer it has.
        if (IsAboutTheClip(result.status())) answers.Add(place, sha256, result);
        return Sent{place, result.status()};
      },
      [&](int, const Sent& sent) {
        if (interrupt.raised() && absl::IsCancelled(sent.status)) return;
        if (!sent.status.ok()) {
          progress.Hide();
          const ClientError error = ErrorOf(sent.status);
          SayOnError(PrintableText(absl::StrCat(entries[sent.place].path, ": ", Sentence(error))));
          if (!IsAboutTheClip(sent.status) && fatal == kExitOk) fatal = ExitCodeOf(error);
          ++failed;
        }
        progress.Update(++done, failed, absl::Now());
        stop = fatal != kExitOk || interrupt.raised() || !answers.written().ok();
      });
  progress.Hide();
  if (interrupt.raised()) return kExitInterrupted;
  if (!answers.written().ok()) return Refuse(answers.written(), kExitInputFailed);
  return fatal;
}

std::string Render(const EvalReport& report, const Args& args, const Terminal& terminal) {
  // For a pipe a summary is one JSON object, laid out as in summary.json.
  const bool whole = args.format == Format::kAuto && !terminal.out_is_tty;
  const Format format = whole ? Format::kJson : ResolveFormat(args.format, terminal);
  switch (format) {
    case Format::kTable:
      return ReportTable(report, UseColor(args.color, terminal));
    case Format::kCsv:
      return ReportCsv(report);
    case Format::kNdjson:
      return ReportJson(report, -1);
    default:
      return ReportJson(report, 1);
  }
}

int Finish(const Args& args, const Terminal& terminal, const EvalReport& report,
           const EvalFolder* folder) {
  if (folder != nullptr) {
    const absl::Status written = folder->WriteSummary(ReportJson(report, 1));
    if (!written.ok()) return Refuse(written, kExitInputFailed);
  }
  Output output;
  output.Write(Render(report, args, terminal));
  if (!output.ok()) {
    ReportOutputError(output);
    return kExitInputFailed;
  }
  if (report.skipped.empty()) return kExitOk;
  SayOnError(absl::StrCat(report.skipped.size(), " of ",
                          report.skipped.size() + static_cast<size_t>(report.scores.top1.of),
                          " clips skipped"));
  return kExitInputFailed;
}

bool Classifies(const v1::Model& model) {
  for (const int task : model.tasks()) {
    if (task == v1::TASK_CLASSIFY) return true;
  }
  return false;
}

}  // namespace

int RunEval(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  auto entries = ReadManifest(args.eval.manifest);
  if (!entries.ok()) return Refuse(entries.status(), kExitUsage);
  const auto session = OpenSession(args.server, args.model);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  const std::string name(absl::StripPrefix(session->model.name(), "models/"));
  if (!Classifies(session->model)) {
    return Refuse(absl::InvalidArgumentError(absl::StrCat(name, " does not classify")),
                  kExitNoModel);
  }
  const std::vector<std::string> labels(session->model.labels().begin(),
                                        session->model.labels().end());
  const absl::Status known = ResolveLabels(labels, name, *entries);
  if (!known.ok()) return Refuse(known, kExitUsage);

  const v1::AnalysisSpec spec = SpecOf(args);
  std::map<std::string, size_t> place_of;
  for (size_t i = 0; i < entries->size(); ++i) place_of[(*entries)[i].path] = i;
  std::unique_ptr<EvalFolder> folder;
  if (!args.eval.output.empty()) {
    // What this manifest does not list is another's and stays; what it lists otherwise is asked
    // again.
    auto opened =
        EvalFolder::Open(args.eval.output, session->model, spec, [&](const Prediction& prediction) {
          const auto place = place_of.find(prediction.path);
          return IsFinal(prediction) && (place == place_of.end() ||
                                         Answered(prediction, (*entries)[place->second], *session));
        });
    if (!opened.ok()) return Refuse(opened.status(), kExitUsage);
    folder = *std::move(opened);
  }
  Answers answers(*entries, folder.get());
  if (folder != nullptr) {
    for (const Prediction& prediction : folder->kept()) {
      const auto place = place_of.find(prediction.path);
      if (place != place_of.end()) answers.Keep(place->second, prediction);
    }
  }

  interrupt.Watch(session->client.get());
  const int stopped = SendAll(args, terminal, interrupt, *session, spec, *entries, answers);
  interrupt.Watch(nullptr);
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
