#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The files that `arguments` stand for, in their order. An argument is
//   -            standard input, taken as the bytes of one clip
//   @list.txt    one argument a line; empty lines and lines that begin with # do not count
//   a folder     every file under it that LooksLikeVideo, sorted by path; hidden entries are left
//                out, links to folders are not followed
//   a pattern    with * ? or [, where no file has that very name: what it matches, sorted
//   anything else: a file. It need not exist: whether it does is for ReadInput to say.
// A folder, pattern or list that stands for nothing, and a list that cannot be read, are errors.
absl::StatusOr<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& arguments);

// The bytes of an input, "-" being standard input. Errors carry a ClientError: FILE_NOT_FOUND,
// FILE_UNREADABLE, or CLIP_TOO_LARGE, which is said before the bytes are read.
absl::StatusOr<std::string> ReadInput(const std::string& input, const v1::ServerLimits& limits);

}  // namespace scanline::cli
