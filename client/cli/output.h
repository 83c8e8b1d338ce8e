#pragma once

#include <cstdio>

#include "absl/strings/string_view.h"

namespace scanline::cli {

// Standard output, written and flushed at once so that a reader of the pipe sees each row. After
// the first failure (a full disk) nothing more is written and `ok` is false.
class Output {
 public:
  explicit Output(FILE* file = stdout) : file_(file) {}
  void Write(absl::string_view text);
  bool ok() const { return error_ == 0; }
  int error() const { return error_; }  // errno

 private:
  FILE* const file_;
  int error_ = 0;
};

// Says on standard error what kept the output from being written.
void ReportOutputError(const Output& output);

}  // namespace scanline::cli
