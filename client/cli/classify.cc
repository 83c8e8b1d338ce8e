#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/clip_format.h"
#include "client/cli/exit_code.h"
#include "client/cli/inputs.h"
#include "client/cli/ordered_run.h"
#include "client/cli/output.h"
#include "client/cli/progress.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

std::unique_ptr<ClipFormat> MakeFormat(Format format, const Args& args, const Terminal& terminal,
                                       const std::vector<std::string>& inputs,
                                       const v1::Model& model) {
  if (format == Format::kNdjson) return MakeNdjson(args.include_logits);
  if (format == Format::kJson) return MakeJson(args.include_logits);
  if (format == Format::kCsv) return MakeCsv();
  TableLook look{.columns = terminal.columns, .color = UseColor(args.color, terminal)};
  for (const std::string& input : inputs) {
    look.widest_input = std::max(look.widest_input, TextWidth(PrintableText(input)));
  }
  for (const std::string& label : model.labels()) {
    look.widest_label = std::max(look.widest_label, TextWidth(PrintableText(label)));
  }
  return MakeTable(look);
}

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

// Counts, prints and decides whether to go on, one outcome at a time in the order of the inputs.
class Run {
 public:
  Run(const Args& args, const Terminal& terminal, const Interrupt& interrupt, int total,
      std::unique_ptr<ClipFormat> format)
      : args_(args),
        interrupt_(interrupt),
        total_(total),
        format_(std::move(format)),
        progress_(args.progress, MayDrawOver(args.progress, terminal), total) {
    output_.Write(format_->Head());
    progress_.Update(0, 0, absl::Now());
  }

  void Take(const Outcome& outcome) {
    // An interrupted call has no outcome: its input counts as not done.
    if (interrupt_.raised() && absl::IsCancelled(outcome.result.status())) return;
    progress_.Hide();
    ++done_;
    output_.Write(format_->Row(outcome));
    if (outcome.result.ok()) {
      for (const v1::Warning& warning : outcome.result->warnings()) {
        SayOnError(
            absl::StrCat(outcome.input, ": warning (", warning.reason(), "): ", warning.message()));
      }
    } else {
      Fail(outcome);
    }
    progress_.Update(done_, failed_, absl::Now());
  }

  Progress& progress() { return progress_; }

  // No input begins any more: one failed for a reason that the next would meet too, or one failed
  // and --fail-fast, or nobody can read the answers.
  bool over() const {
    return fatal_ != kExitOk || (args_.fail_fast && failed_ > 0) || !output_.ok();
  }

  int Finish() {
    progress_.Hide();
    output_.Write(format_->Tail());
    if (failed_ > 0) SayOnError(absl::StrCat(failed_, " of ", total_, " inputs failed"));
    if (done_ < total_) {
      SayOnError(absl::StrCat(interrupt_.raised() ? "interrupted: " : "stopped: ", total_ - done_,
                              " of ", total_, " inputs not done"));
    }
    if (interrupt_.raised()) return kExitInterrupted;
    if (!output_.ok()) {
      ReportOutputError(output_);
      return kExitInputFailed;
    }
    if (fatal_ != kExitOk) return fatal_;
    return failed_ > 0 ? kExitInputFailed : kExitOk;
  }

 private:
  void Fail(const Outcome& outcome) {
    ++failed_;
    const ClientError error = ErrorOf(outcome.result.status());
    SayOnError(absl::StrCat(outcome.input, ": ", Sentence(error)));
    const ExitCode code = ExitCodeOf(error);
    if (code != kExitInputFailed && fatal_ == kExitOk) fatal_ = code;
  }

  const Args& args_;
  const Interrupt& interrupt_;
  const int total_;
  const std::unique_ptr<ClipFormat> format_;
  Output output_;
  Progress progress_;
  int done_ = 0;
  int failed_ = 0;
  ExitCode fatal_ = kExitOk;
};

}  // namespace

int RunClassify(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const auto inputs = ExpandInputs(args.inputs);
  if (!inputs.ok()) {
    SayOnError(std::string(inputs.status().message()));
    return kExitUsage;
  }
  for (const std::string& note : inputs->notes) SayOnError(note);
  const std::vector<std::string>& files = inputs->files;
  const auto session = OpenSession(args.server, args.model);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  interrupt.Watch(session->client.get());
  const int count = static_cast<int>(files.size());
  const v1::AnalysisSpec spec = SpecOf(args);
  Run run(args, terminal, interrupt, count,
          MakeFormat(ResolveFormat(args.format, terminal), args, terminal, files, session->model));
  std::atomic<bool> stop{false};
  RunInOrder<Outcome>(
      count, args.jobs, stop,
      [&](int i) {
        const std::string& input = files[static_cast<size_t>(i)];
        const auto upload = run.progress().NewUpload();
        const auto on_sent = [&](uint64_t sent, uint64_t total) {
          run.progress().Sent(upload, sent, total, absl::Now());
        };
        auto result = SendClip(input, *session->client, session->limits, spec,
                               absl::Seconds(args.timeout_seconds), on_sent);
        run.progress().EndUpload(upload);
        return Outcome{input, std::move(result)};
      },
      [&](int, const Outcome& outcome) {
        run.Take(outcome);
        stop = run.over() || interrupt.raised();
      });
  interrupt.Watch(nullptr);
  return run.Finish();
}

}  // namespace scanline::cli
