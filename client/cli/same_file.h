#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace scanline::cli {

struct Args;

// A file of the command line, with the flag or the word that names it: "--boxes", "INPUT".
struct NamedFile {
  std::string name;
  std::string path;
};

// Whether both are one file, however they are spelt: through links, other names of one file, or,
// where they are not there yet, folders that are the same.
bool IsSameFile(const std::string& a, const std::string& b);

// Whether `file` is in `folder`, or would be, however they are spelt.
bool IsInside(const std::string& file, const std::string& folder);

// The files that the command reads and that go by name: not "-". `inputs`: args.inputs, expanded.
std::vector<NamedFile> FilesRead(const Args& args, const std::vector<std::string>& inputs);

// INVALID_ARGUMENT where one of `written` is one of `read`, which it would replace, or another of
// `written`.
absl::Status CheckWritten(const std::vector<NamedFile>& written,
                          const std::vector<NamedFile>& read);

}  // namespace scanline::cli
