#include "client/cli/eval_run.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/clip_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/ordered_run.h"
#include "client/cli/outcome.h"
#include "client/cli/output.h"
#include "client/cli/progress.h"

namespace scanline::cli {
namespace {

std::string Render(const Args& args, const Terminal& terminal, const ReportForms& forms) {
  const bool whole = args.format == Format::kAuto && !terminal.out_is_tty;
  const Format format = whole ? Format::kJson : ResolveFormat(args.format, terminal);
  switch (format) {
    case Format::kTable:
      return forms.table(UseColor(args.color, terminal));
    case Format::kCsv:
      return forms.csv();
    case Format::kNdjson:
      return forms.json(-1);
    default:
      return forms.json(1);
  }
}

}  // namespace

bool IsAboutTheClip(const absl::Status& status) {
  return status.ok() || ExitCodeOf(ErrorOf(status)) == kExitInputFailed;
}

ClipFile::GoOn NotCancelled(const Session& session) {
  return [&session]() -> absl::Status {
    if (session.client->cancelled()) return absl::CancelledError("interrupted");
    return absl::OkStatus();
  };
}

int AskForClips(const Args& args, const Terminal& terminal, Interrupt& interrupt,
                const Session& session, const std::vector<EvalClip>& clips, size_t total,
                const AskForClip& ask, const std::function<absl::Status()>& written) {
  int done = static_cast<int>(total - clips.size());
  int failed = 0;
  ExitCode fatal = kExitOk;
  Progress progress(args.progress, MayDrawOver(args.progress, terminal), static_cast<int>(total));
  progress.Update(done, failed, absl::Now());
  interrupt.Watch(session.client.get());
  std::atomic<bool> stop{false};
  RunInOrder<absl::Status>(
      static_cast<int>(clips.size()), args.jobs, stop,
      [&](int i) {
        const EvalClip& clip = clips[static_cast<size_t>(i)];
        const auto upload = progress.NewUpload();
        const auto on_sent = [&](uint64_t sent, uint64_t bytes) {
          progress.Sent(upload, sent, bytes, absl::Now());
        };
        const absl::Status status = ask(clip, on_sent);
        progress.EndUpload(upload);
        return status;
      },
      [&](int i, const absl::Status& status) {
        if (interrupt.raised() && absl::IsCancelled(status)) return;
        if (!status.ok()) {
          progress.Hide();
          const ClientError error = ErrorOf(status);
          SayOnError(absl::StrCat(clips[static_cast<size_t>(i)].path, ": ", Sentence(error)));
          if (!IsAboutTheClip(status) && fatal == kExitOk) fatal = ExitCodeOf(error);
          ++failed;
        }
        progress.Update(++done, failed, absl::Now());
        stop = fatal != kExitOk || interrupt.raised() || !written().ok();
      });
  interrupt.Watch(nullptr);
  progress.Hide();
  if (interrupt.raised()) return kExitInterrupted;
  if (const absl::Status status = written(); !status.ok()) {
    SayOnError(status.message());
    return kExitInputFailed;
  }
  return fatal;
}

int GiveReport(const Args& args, const Terminal& terminal, const EvalFolder* folder,
               const ReportForms& forms) {
  if (folder != nullptr) {
    const absl::Status written = folder->WriteSummary(forms.json(1));
    if (!written.ok()) {
      SayOnError(written.message());
      return kExitInputFailed;
    }
  }
  Output output;
  output.Write(Render(args, terminal, forms));
  if (output.ok()) return kExitOk;
  ReportOutputError(output);
  return kExitInputFailed;
}

}  // namespace scanline::cli
