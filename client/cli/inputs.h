#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace scanline::cli {

struct Inputs {
  std::vector<std::string> files;
  std::vector<std::string> notes;  // For the user: what was left out although it may be meant.
};

// The files that `arguments` stand for, in their order. An argument is
//   -            standard input, taken as the bytes of one clip
//   @list.txt    one argument a line; empty lines and lines that begin with # do not count
//   a folder     every file under it that LooksLikeVideo or is NamedLikeVideo, sorted by path. A
//                video's name alone is enough, so that an empty file or a link to nothing fails
//                instead of being lost, and so is a folder in it that may not be read. Hidden
//                entries are left out, links to folders are not followed
//   a pattern    with * ? or [, where no file has that very name: what it matches, sorted
//   anything else: a file. It need not exist: whether it does is for SendClip to say.
// Folders and patterns leave out named pipes, sockets and devices, with a note: reading one that
// nobody meant may never end.
// A folder, pattern or list that stands for nothing, and a list that cannot be read, are errors: of
// a folder or pattern NOT_FOUND. With `folders_may_be_empty` a folder without videos has a note
// instead.
absl::StatusOr<Inputs> ExpandInputs(const std::vector<std::string>& arguments,
                                    bool folders_may_be_empty = false);

}  // namespace scanline::cli
