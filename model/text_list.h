#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// The largest file of labels or words that is read.
inline constexpr size_t kMaxListBytes = size_t{16} << 20;

// The lines of a list: one entry a line, LF or CRLF; a line end at the end of the text does not
// start another entry. An empty line, one that is not UTF-8 (answers are, so no client could read
// it) and one that is there already are refused: INVALID_ARGUMENT, without a reason of ours, with
// `path` and the line. The caller says what kind of mistake that is.
absl::StatusOr<std::vector<std::string>> ParseTextList(absl::string_view text,
                                                       absl::string_view path);

// No entry twice, or INVALID_ARGUMENT that names both lines.
absl::Status CheckDistinct(const std::vector<std::string>& entries, absl::string_view path);

// What names a model in models/{name}@{version}: up to 64 of a-z 0-9 . _ -, the first a letter or a
// digit.
bool IsModelId(absl::string_view text);

}  // namespace scanline
