#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/args.h"
#include "client/cli/clip_file.h"
#include "client/cli/eval_folder.h"
#include "client/cli/interrupt.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/terminal.h"

namespace scanline::cli {

// A status that is no error of `clip` alone ends an evaluation: the next clip would meet it too.
bool IsAboutTheClip(const absl::Status& status);

// For reading a clip's bytes: CANCELLED once the session's client is.
ClipFile::GoOn NotCancelled(const Session& session);

// One clip of an evaluation that is still to be sent.
struct EvalClip {
  std::string path;  // for messages
  std::string file;
  size_t place = 0;  // the caller's own
};

// What an evaluation does with one clip: sends `clip` (with SendDigested if the answer is kept for
// later runs), keeps what came back if IsAboutTheClip, and returns how it went. Called on several
// threads.
using AskForClip = std::function<absl::Status(const EvalClip& clip, const OnSent& on_sent)>;

// Asks for each of `clips` on args.jobs threads, with progress that counts them as the last ones of
// `total`. `written` is asked after each clip: an error of it, like an error that is not about the
// clip, ends the run. Returns kExitOk, or the exit code of what ended it before its time.
int AskForClips(const Args& args, const Terminal& terminal, Interrupt& interrupt,
                const Session& session, const std::vector<EvalClip>& clips, size_t total,
                const AskForClip& ask, const std::function<absl::Status()>& written);

// The forms of a report. `indent` of its JSON: -1 is one line.
struct ReportForms {
  std::function<std::string(bool color)> table;
  std::function<std::string()> csv;
  std::function<std::string(int indent)> json;
};

// Writes summary.json where there is a folder, and the form that --format asks for to standard
// output; in a pipe that is one JSON object, laid out as in summary.json. To the exit code.
int GiveReport(const Args& args, const Terminal& terminal, const EvalFolder* folder,
               const ReportForms& forms);

}  // namespace scanline::cli
