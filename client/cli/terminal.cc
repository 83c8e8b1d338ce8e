#include "client/cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace scanline::cli {
namespace {

constexpr int kUsualColumns = 80;  // of a terminal that does not say

}  // namespace

Terminal DetectTerminal(const Getenv& getenv) {
  Terminal terminal;
  terminal.out_is_tty = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_tty = isatty(STDERR_FILENO) == 1;
  terminal.no_color =
      !getenv("NO_COLOR").value_or("").empty() || getenv("TERM").value_or("") == "dumb";
  struct stat out {};
  terminal.out_is_pipe = fstat(STDOUT_FILENO, &out) == 0 && S_ISFIFO(out.st_mode);
  winsize size{};
  if (terminal.out_is_tty) {
    const bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    terminal.columns = told ? size.ws_col : kUsualColumns;
  }
  return terminal;
}

bool UseColor(When when, const Terminal& terminal) {
  if (when == When::kAuto) return terminal.out_is_tty && !terminal.no_color;
  return when == When::kAlways;
}

bool MayDrawOver(When when, const Terminal& terminal) {
  return terminal.err_is_tty && (when == When::kAlways || !terminal.out_is_pipe);
}

Format ResolveFormat(Format format, const Terminal& terminal) {
  if (format != Format::kAuto) return format;
  return terminal.out_is_tty ? Format::kTable : Format::kNdjson;
}

}  // namespace scanline::cli
