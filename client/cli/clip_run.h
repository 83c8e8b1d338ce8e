#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/args.h"
#include "client/cli/clip_format.h"
#include "client/cli/exit_code.h"
#include "client/cli/interrupt.h"
#include "client/cli/output.h"
#include "client/cli/progress.h"
#include "client/cli/session.h"
#include "client/cli/terminal.h"

namespace scanline::cli {

// "scanline: TEXT" as a line of standard error.
void SayOnError(absl::string_view text);

// One run of a verb that answers inputs one by one: counts, prints, shows progress and decides
// whether to go on. Outcomes come in the order of the inputs, on one thread.
class ClipRun {
 public:
  // `shared_texts`: every input is sent with the same texts, so that a warning about one is said
  // once, and an error about one is that of every input.
  ClipRun(const Args& args, const Terminal& terminal, const Interrupt& interrupt, int total,
          std::unique_ptr<ClipFormat> format, bool shared_texts = false);

  void Take(const Outcome& outcome);

  Progress& progress() { return progress_; }

  // No input begins any more: one failed for a reason that the next would meet too, or one failed
  // and --fail-fast, or the answers cannot be written.
  bool over() const {
    return fatal_ != kExitOk || (args_.fail_fast && failed_ > 0) || !output_.ok() ||
           !format_->status().ok();
  }

  // Every input was answered or has failed by itself; none was left out.
  bool complete() const { return done_ == total_; }

  // Prints what is left and how it went, to the exit code.
  int Finish();

 private:
  void Warn(const Outcome& outcome);
  void Fail(const Outcome& outcome);

  const Args& args_;
  const Interrupt& interrupt_;
  const int total_;
  const bool shared_texts_;
  const std::unique_ptr<ClipFormat> format_;
  Output output_;
  Progress progress_;
  int done_ = 0;
  int failed_ = 0;
  ExitCode fatal_ = kExitOk;
  std::set<std::string> said_;  // warnings about shared texts, which every answer repeats
};

// Sends each of `files` with `spec` on args.jobs threads and gives the answers to `run`. `refine`,
// where given, completes what came back before it is taken.
void SendClips(const Args& args, Interrupt& interrupt, const Session& session,
               const std::vector<std::string>& files, const v1::AnalysisSpec& spec, ClipRun& run,
               const std::function<void(absl::StatusOr<v1::ClipResult>&)>& refine = nullptr);

}  // namespace scanline::cli
