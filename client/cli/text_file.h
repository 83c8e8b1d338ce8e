#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::cli {

// Lists, boxes, manifests, settings: what a person or a script writes.
inline constexpr uint64_t kMostTextBytes = uint64_t{256} << 20;
// A row for each action of each person of a data set (AVA's validation: about 1 GB).
inline constexpr uint64_t kMostRowsBytes = uint64_t{4} << 30;

// All of a file that the user names: a regular one, a pipe, a socket, a terminal or /dev/null.
// Waits for what writes to a pipe. An error says "cannot read WHAT PATH: " and why: other devices
// and folders, more than `most` bytes, as errno has it.
absl::StatusOr<std::string> ReadTextFile(absl::string_view what, const std::string& path,
                                         uint64_t most = kMostTextBytes);

}  // namespace scanline::cli
