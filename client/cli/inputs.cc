#include "client/cli/inputs.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/sniff.h"
#include "client/cli/text_file.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

bool FileLooksLikeVideo(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kSniffBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return LooksLikeVideo(head);
}

// What is left out of one folder or pattern.
class LeftOut {
 public:
  void Add(absl::string_view path, absl::string_view why) {
    if (++count_ <= kNamed) texts_.push_back(absl::StrCat(path, " (", why, ")"));
  }
  bool any() const { return count_ > 0; }
  std::string Text() const {
    const size_t more = count_ - texts_.size();
    return absl::StrCat("skipped ", count_, ": ", absl::StrJoin(texts_, ", "),
                        more > 0 ? absl::StrCat(" and ", more, " more") : "");
  }

 private:
  static constexpr size_t kNamed = 5;
  size_t count_ = 0;
  std::vector<std::string> texts_;
};

// Also a link to nothing and what may not be looked at: SendClip says what is wrong.
bool MayBeFile(fs::file_type type) {
  return type == fs::file_type::regular || type == fs::file_type::not_found ||
         type == fs::file_type::none;
}

const char* NameOf(fs::file_type type) {
  if (type == fs::file_type::fifo) return "a named pipe";
  return type == fs::file_type::socket ? "a socket" : "a device";
}

// `found` are the files of `argument`, to which nothing that it stands for is an error.
absl::Status Add(const std::string& argument, absl::string_view nothing, Paths found,
                 const LeftOut& left_out, Inputs& inputs) {
  const std::string note = left_out.any() ? left_out.Text() : "";
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat(nothing, " ", argument, left_out.any() ? "; " : "", note));
  }
  std::sort(found.begin(), found.end());
  inputs.files.insert(inputs.files.end(), found.begin(), found.end());
  if (left_out.any()) inputs.notes.push_back(absl::StrCat(argument, ": ", note));
  return absl::OkStatus();
}

absl::Status ExpandFolder(const std::string& folder, bool may_be_empty, Inputs& inputs) {
  Paths found;
  LeftOut left_out;
  if (access(folder.c_str(), R_OK | X_OK) != 0) left_out.Add(folder, std::strerror(errno));
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator it(folder, options, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code unknown;
    const fs::path& path = it->path();
    const std::string name = path.filename().native();
    const fs::file_type type = it->status(unknown).type();
    const std::string shown = path.lexically_relative(folder).native();
    if (absl::StartsWith(name, ".")) {
      if (type == fs::file_type::directory) it.disable_recursion_pending();
    } else if (type == fs::file_type::directory) {
      // Its videos are not known: SendClip fails with the reason, so that the run does.
      if (access(path.c_str(), R_OK | X_OK) != 0) found.push_back(path.native());
    } else if (NamedLikeVideo(name)) {
      if (MayBeFile(type)) {
        found.push_back(path.native());
      } else {
        left_out.Add(shown, NameOf(type));
      }
    } else if (type == fs::file_type::regular && FileLooksLikeVideo(path)) {
      found.push_back(path.native());
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot search the folder ", folder, ": ", error.message()));
  }
  if (found.empty() && may_be_empty && !left_out.any()) {
    inputs.notes.push_back(absl::StrCat("no video in the folder ", folder));
    return absl::OkStatus();
  }
  return Add(folder, "no video in the folder", std::move(found), left_out, inputs);
}

Paths MatchPattern(const std::string& pattern) {
  glob_t matches{};
  Paths paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return paths;
}

absl::Status ExpandPattern(const std::string& pattern, bool may_be_empty, Inputs& inputs) {
  Paths found;
  LeftOut left_out;
  bool folders = false;
  for (const std::string& match : MatchPattern(pattern)) {
    std::error_code unknown;
    const fs::file_type type = fs::status(match, unknown).type();
    if (MayBeFile(type)) {
      found.push_back(match);
    } else if (type == fs::file_type::directory) {
      folders = true;
      Inputs inside;
      SCANLINE_RETURN_IF_ERROR(ExpandFolder(match, may_be_empty, inside));
      found.insert(found.end(), inside.files.begin(), inside.files.end());
      inputs.notes.insert(inputs.notes.end(), inside.notes.begin(), inside.notes.end());
    } else {
      left_out.Add(match, NameOf(type));
    }
  }
  if (found.empty() && folders && !left_out.any()) return absl::OkStatus();  // Noted.
  return Add(pattern, "nothing matches", std::move(found), left_out, inputs);
}

absl::StatusOr<Paths> ReadList(const std::string& list) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile("the list", list));
  Paths lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripSuffix(line, "\r");
    if (!line.empty() && line[0] != '#') lines.emplace_back(line);
  }
  if (lines.empty()) return absl::InvalidArgumentError(absl::StrCat("no input in the list ", list));
  return lines;
}

absl::Status ExpandPath(const std::string& path, bool may_be_empty, Inputs& inputs) {
  std::error_code unknown;
  if (path != "-" && fs::is_directory(path, unknown))
    return ExpandFolder(path, may_be_empty, inputs);
  const bool is_there = fs::exists(fs::symlink_status(path, unknown));
  if (!is_there && path.find_first_of("*?[") != std::string::npos) {
    return ExpandPattern(path, may_be_empty, inputs);
  }
  inputs.files.push_back(path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inputs> ExpandInputs(const Paths& arguments, bool folders_may_be_empty) {
  Inputs all;
  for (const std::string& argument : arguments) {
    Paths named = {argument};
    if (argument.size() > 1 && argument[0] == '@') {
      SCANLINE_ASSIGN_OR_RETURN(named, ReadList(argument.substr(1)));
    }
    for (const std::string& path : named)
      SCANLINE_RETURN_IF_ERROR(ExpandPath(path, folders_may_be_empty, all));
  }
  if (std::count(all.files.begin(), all.files.end(), "-") > 1) {
    return absl::InvalidArgumentError("- stands for standard input, which can be read only once");
  }
  return all;
}

}  // namespace scanline::cli
