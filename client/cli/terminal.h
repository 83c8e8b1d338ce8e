#pragma once

#include "client/cli/args.h"

namespace scanline::cli {

// What standard output and standard error lead to.
struct Terminal {
  bool out_is_tty = false;
  bool err_is_tty = false;
  bool out_is_pipe = false;
  int columns = 0;  // of standard output's terminal; 0: it is none
  bool no_color = false;
};

Terminal DetectTerminal(const Getenv& getenv);

bool UseColor(When when, const Terminal& terminal);
// Whether a line on standard error may be drawn over. Not beside a pipe, unless it is asked for:
// the program at its end may write to the same terminal.
bool MayDrawOver(When when, const Terminal& terminal);
Format ResolveFormat(Format format, const Terminal& terminal);

}  // namespace scanline::cli
