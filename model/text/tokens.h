#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/text/unicode.h"

namespace scanline {

// What a text tower reads of a text.
struct Tokens {
  std::vector<int> ids;
  std::vector<std::string> unknown_words;  // the first 20, each once; long ones shortened
  bool truncated = false;                  // `ids` was cut to what the tower takes
};

// `word` is UTF-8.
void ReportUnknown(absl::string_view word, Tokens* tokens);

// FIELD_INVALID about texts[index]; `what` is "expected ..., found ...".
absl::Status TextError(size_t index, absl::string_view what);

// The code points of texts[index], or the TextError that it is not UTF-8.
absl::StatusOr<CodePoints> DecodeText(absl::string_view text, size_t index);

}  // namespace scanline
