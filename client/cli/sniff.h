#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace scanline::cli {

inline constexpr size_t kSniffBytes = 1024;

// Whether the first bytes of a file (kSniffBytes of them, or all) are those of a video container
// or of a raw MPEG or H.26x stream. It is what a folder is searched by: cheap, and right about what
// is clearly no video; only the server's decoder knows the rest.
bool LooksLikeVideo(absl::string_view head);

// Whether a file's name ends as those of videos do, ".mp4". Not ".ts", which is TypeScript's too.
bool NamedLikeVideo(absl::string_view name);

}  // namespace scanline::cli
