#include "client/cli/inputs.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "client/cli/sniff.h"

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

absl::StatusOr<Paths> ExpandFolder(const std::string& folder) {
  Paths found;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator it(folder, options, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (absl::StartsWith(it->path().filename().native(), ".")) {
      if (it->is_directory(gone)) it.disable_recursion_pending();
    } else if (it->is_regular_file(gone) && FileLooksLikeVideo(it->path())) {
      found.push_back(it->path().native());
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot search the folder ", folder, ": ", error.message()));
  }
  if (found.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no video in the folder ", folder));
  }
  std::sort(found.begin(), found.end());
  return found;
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

absl::StatusOr<Paths> ReadList(const std::string& list) {
  std::ifstream file(list);
  if (!file || fs::is_directory(list)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the list ", list));
  }
  Paths lines;
  for (std::string line; std::getline(file, line);) {
    if (absl::EndsWith(line, "\r")) line.pop_back();
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  if (lines.empty()) return absl::InvalidArgumentError(absl::StrCat("no input in the list ", list));
  return lines;
}

absl::StatusOr<Paths> ExpandPath(const std::string& path) {
  std::error_code unknown;
  if (path == "-") return Paths{path};
  if (fs::is_directory(path, unknown)) return ExpandFolder(path);
  if (fs::exists(path, unknown) || path.find_first_of("*?[") == std::string::npos) {
    return Paths{path};
  }
  Paths all;
  for (const std::string& match : MatchPattern(path)) {
    SCANLINE_ASSIGN_OR_RETURN(const Paths files, ExpandPath(match));
    all.insert(all.end(), files.begin(), files.end());
  }
  if (all.empty()) return absl::InvalidArgumentError(absl::StrCat("nothing matches ", path));
  return all;
}

}  // namespace

absl::StatusOr<Paths> ExpandInputs(const Paths& arguments) {
  Paths all;
  for (const std::string& argument : arguments) {
    Paths named = {argument};
    if (argument.size() > 1 && argument[0] == '@') {
      SCANLINE_ASSIGN_OR_RETURN(named, ReadList(argument.substr(1)));
    }
    for (const std::string& path : named) {
      SCANLINE_ASSIGN_OR_RETURN(const Paths files, ExpandPath(path));
      all.insert(all.end(), files.begin(), files.end());
    }
  }
  if (std::count(all.begin(), all.end(), "-") > 1) {
    return absl::InvalidArgumentError("- stands for standard input, which can be read only once");
  }
  return all;
}

}  // namespace scanline::cli
