#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace scanline::cli {

// The files that `arguments` stand for, in their order. An argument is
//   -            standard input, taken as the bytes of one clip
//   @list.txt    one argument a line; empty lines and lines that begin with # do not count
//   a folder     every file under it that LooksLikeVideo, sorted by path; hidden entries are left
//                out, links to folders are not followed
//   a pattern    with * ? or [, where no file has that very name: what it matches, sorted
//   anything else: a file. It need not exist: whether it does is for SendClip to say.
// A folder, pattern or list that stands for nothing, and a list that cannot be read, are errors.
absl::StatusOr<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& arguments);

}  // namespace scanline::cli
