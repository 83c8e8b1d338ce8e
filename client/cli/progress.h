#pragma once

#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "client/cli/args.h"

namespace scanline::cli {

// "5 of 14  [=====>       ]  36 %  1 failed", for a bar of a terminal and for a plain line.
std::string ProgressText(int done, int failed, int total, bool with_bar);

// How far the run is, on standard error: a line that is drawn over on a terminal, elsewhere one
// plain line every ten seconds (or each input, where it is asked for always).
class Progress {
 public:
  Progress(When when, bool is_tty, int total, FILE* out = stderr);

  void Update(int done, int failed, absl::Time now);
  void Hide();  // Before anything else is written to the terminal; Update draws it again.

 private:
  enum class Mode { kOff, kBar, kLines, kEveryLine };
  const Mode mode_;
  const int total_;
  FILE* const out_;
  absl::Time last_line_ = absl::InfinitePast();
  bool shown_ = false;
};

}  // namespace scanline::cli
