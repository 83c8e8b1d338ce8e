#include "client/cli/clip_run.h"

#include <atomic>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/ordered_run.h"
#include "client/cli/send_clip.h"
#include "client/cli/text_batch.h"
#include "client/cli/text_width.h"

namespace scanline::cli {

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

ClipRun::ClipRun(const Args& args, const Terminal& terminal, const Interrupt& interrupt, int total,
                 std::unique_ptr<ClipFormat> format, bool shared_texts)
    : args_(args),
      interrupt_(interrupt),
      total_(total),
      shared_texts_(shared_texts),
      format_(std::move(format)),
      progress_(args.progress, MayDrawOver(args.progress, terminal), total) {
  output_.Write(format_->Head());
  progress_.Update(0, 0, absl::Now());
}

void ClipRun::Take(const Outcome& outcome) {
  // An interrupted call has no outcome: its input counts as not done.
  if (interrupt_.raised() && absl::IsCancelled(outcome.result.status())) return;
  progress_.Hide();
  ++done_;
  output_.Write(format_->Row(outcome));
  if (outcome.result.ok()) {
    Warn(outcome);
  } else {
    Fail(outcome);
  }
  progress_.Update(done_, failed_, absl::Now());
}

void ClipRun::Warn(const Outcome& outcome) {
  for (const v1::Warning& warning : outcome.result->warnings()) {
    const std::string text = absl::StrCat("warning (", warning.reason(), "): ", warning.message());
    if (!shared_texts_ || !IsAboutAText(warning)) {
      SayOnError(absl::StrCat(outcome.input, ": ", text));
    } else if (said_.insert(text).second) {
      SayOnError(text);
    }
  }
}

void ClipRun::Fail(const Outcome& outcome) {
  ++failed_;
  const ClientError error = ErrorOf(outcome.result.status());
  SayOnError(absl::StrCat(outcome.input, ": ", Sentence(error)));
  const ExitCode code = shared_texts_ && IsAboutAText(error) ? kExitUsage : ExitCodeOf(error);
  if (code != kExitInputFailed && fatal_ == kExitOk) fatal_ = code;
}

int ClipRun::Finish() {
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
  if (!format_->status().ok()) {
    SayOnError(format_->status().message());
    return kExitInputFailed;
  }
  if (fatal_ != kExitOk) return fatal_;
  return failed_ > 0 ? kExitInputFailed : kExitOk;
}

void SendClips(const Args& args, Interrupt& interrupt, const Session& session,
               const std::vector<std::string>& files, const v1::AnalysisSpec& spec, ClipRun& run,
               const std::function<void(absl::StatusOr<v1::ClipResult>&)>& refine) {
  interrupt.Watch(session.client.get());
  std::atomic<bool> stop{false};
  RunInOrder<Outcome>(
      static_cast<int>(files.size()), args.jobs, stop,
      [&](int i) {
        const std::string& input = files[static_cast<size_t>(i)];
        const auto upload = run.progress().NewUpload();
        const auto on_sent = [&](uint64_t sent, uint64_t total) {
          run.progress().Sent(upload, sent, total, absl::Now());
        };
        auto result = SendClip(input, *session.client, session.limits, spec,
                               absl::Seconds(args.timeout_seconds), on_sent);
        run.progress().EndUpload(upload);
        if (refine) refine(result);
        return Outcome{input, std::move(result)};
      },
      [&](int, const Outcome& outcome) {
        run.Take(outcome);
        stop = run.over() || interrupt.raised();
      });
  interrupt.Watch(nullptr);
}

}  // namespace scanline::cli
