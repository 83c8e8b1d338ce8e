#include "client/cli/output.h"

#include <cerrno>
#include <cstring>

namespace scanline::cli {

void Output::Write(absl::string_view text) {
  if (!ok() || text.empty()) return;
  errno = 0;
  if (fwrite(text.data(), 1, text.size(), file_) != text.size() || fflush(file_) != 0) {
    error_ = errno != 0 ? errno : EIO;
  }
}

void ReportOutputError(const Output& output) {
  fprintf(stderr, "scanline: cannot write to standard output: %s\n", std::strerror(output.error()));
}

}  // namespace scanline::cli
