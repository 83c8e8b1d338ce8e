#include "client/cli/same_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/args.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;

fs::path Canonical(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  fs::path canonical = fs::weakly_canonical(whole, error);
  return error ? whole.lexically_normal() : canonical;
}

}  // namespace

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) || Canonical(a) == Canonical(b);
}

bool IsInside(const std::string& file, const std::string& folder) {
  const fs::path root = Canonical(folder);
  std::error_code error;
  for (fs::path at = Canonical(file); at.has_relative_path(); at = at.parent_path()) {
    if (at == root || fs::equivalent(at, root, error)) return true;
  }
  return false;
}

std::vector<NamedFile> FilesRead(const Args& args, const std::vector<std::string>& inputs) {
  std::vector<NamedFile> files;
  const auto add = [&](const char* name, const std::string& path) {
    if (!path.empty() && path != "-") files.push_back({name, path});
  };
  for (const std::string& input : inputs) add("the INPUT", input);
  for (const std::string& input : args.inputs) {
    if (absl::StartsWith(input, "@")) add("the list", input.substr(1));
  }
  add("--boxes", args.detect.boxes);
  add("--texts", args.texts_file);
  add("--manifest", args.eval.manifest);
  add("--truth", args.eval.truth);
  add("--detections", args.eval.detections);
  add("--exclude", args.eval.exclude);
  add("--actions", args.eval.actions);
  add("--clip", args.search.clip);
  add("the checkpoint", args.import.file);
  add("--labels", args.import.labels);
  add("--vocab", args.import.vocab);
  add("--config", args.config);
  return files;
}

absl::Status CheckWritten(const std::vector<NamedFile>& written,
                          const std::vector<NamedFile>& read) {
  for (size_t i = 0; i < written.size(); ++i) {
    const auto& [name, path] = written[i];
    for (const NamedFile& other : read) {
      // Both are there, or nothing can be lost: cheaper than IsSameFile, and inputs may be many.
      std::error_code error;
      if (!fs::equivalent(path, other.path, error)) continue;
      const std::string spelt = other.path == path ? "" : absl::StrCat(" (", other.path, ")");
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", path, " is ", other.name, " itself", spelt));
    }
    for (size_t k = 0; k < i; ++k) {
      if (!IsSameFile(path, written[k].path)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", path, " is there twice",
                       written[k].path == path ? "" : absl::StrCat(", also as ", written[k].path)));
    }
  }
  return absl::OkStatus();
}

}  // namespace scanline::cli
