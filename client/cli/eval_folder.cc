#include "client/cli/eval_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/json.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;
constexpr char kRun[] = "run.json";
constexpr char kPredictions[] = "predictions.ndjson";
constexpr char kSummary[] = "summary.json";

absl::Status FileError(absl::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

absl::Status WriteAll(int file, absl::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("write", path);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

// The file is whole or as it was.
absl::Status WriteFile(const std::string& path, absl::string_view text) {
  const std::string part = path + ".part";
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return FileError("write", part);
  absl::Status status = WriteAll(file, text, part);
  if (close(file) != 0 && status.ok()) status = FileError("write", part);
  if (status.ok() && rename(part.c_str(), path.c_str()) != 0) status = FileError("write", path);
  return status;
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

nlohmann::ordered_json RunJson(const std::string& task, const v1::Model& model,
                               const v1::AnalysisSpec& spec) {
  nlohmann::ordered_json run;
  run["format"] = 1;
  run["task"] = task;
  run["model"] = std::string(absl::StripPrefix(model.name(), "models/"));
  run["version"] = model.version();
  run["weights_sha256"] = model.weights_sha256();
  run["settings"] = nlohmann::ordered_json::parse(ProtoJson(spec));
  run["settings"].erase("model");  // Named above, and "" means the same as the name.
  return run;
}

std::string ModelText(const nlohmann::ordered_json& run) {
  return absl::StrCat(run.value("model", ""), "@", run.value("version", ""), " (weights ",
                      run.value("weights_sha256", "").substr(0, 12), ")");
}

}  // namespace

std::vector<NamedFile> FilesOfEval(const std::string& folder) {
  std::vector<NamedFile> files;
  if (folder.empty()) return files;
  for (const char* name : {kRun, kPredictions, kSummary}) {
    files.push_back({"-o", (fs::path(folder) / name).native()});
  }
  return files;
}

absl::StatusOr<std::unique_ptr<EvalFolder>> EvalFolder::Open(const std::string& folder,
                                                             const std::string& task,
                                                             const v1::Model& model,
                                                             const v1::AnalysisSpec& spec,
                                                             const Keep& keep) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot make the folder ", folder, ": ", error.message()));
  }
  std::unique_ptr<EvalFolder> opened(new EvalFolder(folder));
  SCANLINE_RETURN_IF_ERROR(opened->CheckRun(task, model, spec));
  SCANLINE_RETURN_IF_ERROR(opened->OpenPredictions(keep));
  return opened;
}

EvalFolder::~EvalFolder() {
  if (file_ >= 0) close(file_);
}

std::string EvalFolder::PathOf(const char* name) const {
  return (fs::path(folder_) / name).native();
}

absl::Status EvalFolder::CheckRun(const std::string& task, const v1::Model& model,
                                  const v1::AnalysisSpec& spec) const {
  const nlohmann::ordered_json now = RunJson(task, model, spec);
  const std::optional<std::string> text = ReadFile(PathOf(kRun));
  if (!text) {
    if (fs::exists(PathOf(kPredictions))) {
      return absl::InvalidArgumentError(absl::StrCat(PathOf(kPredictions), " is there without ",
                                                     kRun, ": not a folder of eval; name another"));
    }
    return WriteFile(PathOf(kRun), now.dump(1) + "\n");
  }
  const auto then = nlohmann::ordered_json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (then.is_discarded() || !then.is_object() || then.value("format", 0) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(kRun), " is not of this program; name another folder"));
  }
  if (then.value("task", "") != task) {
    return absl::InvalidArgumentError(absl::StrCat(folder_, " holds answers of eval ",
                                                   then.value("task", ""),
                                                   ": name another folder, or remove this one"));
  }
  if (ModelText(then) != ModelText(now) || then["weights_sha256"] != now["weights_sha256"]) {
    return absl::InvalidArgumentError(absl::StrCat(folder_, " holds answers of ", ModelText(then),
                                                   ", the server has ", ModelText(now),
                                                   ": name another folder, or remove this one"));
  }
  if (then["settings"] != now["settings"]) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder_, " holds answers for other settings (", kRun,
                     " has them): name another folder, or remove this one"));
  }
  return absl::OkStatus();
}

absl::Status EvalFolder::OpenPredictions(const Keep& keep) {
  const std::string path = PathOf(kPredictions);
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) return FileError("write", path);
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("another eval is at work in ", folder_));
  }
  const std::string text = ReadFile(path).value_or("");
  std::string stays;
  int number = 0;
  for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const absl::string_view line = absl::string_view(text).substr(at, end + 1 - at);
    ++number;
    const absl::StatusOr<bool> stay = keep(line);
    if (!stay.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": ", stay.status().message()));
    }
    if (*stay) absl::StrAppend(&stays, line);
  }
  if (stays.size() == text.size()) return absl::OkStatus();
  // Written beside the file first: what is kept must survive whatever happens here. The lock stays
  // with the old file, whose name goes, so the new one is locked before.
  const std::string part = path + ".part";
  const int whole = open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (whole < 0) return FileError("write", part);
  flock(whole, LOCK_EX | LOCK_NB);
  close(std::exchange(file_, whole));
  SCANLINE_RETURN_IF_ERROR(WriteAll(file_, stays, part));
  return rename(part.c_str(), path.c_str()) == 0 ? absl::OkStatus() : FileError("write", path);
}

absl::Status EvalFolder::Append(absl::string_view line) const {
  return WriteAll(file_, line, PathOf(kPredictions));
}

absl::Status EvalFolder::WriteSummary(absl::string_view json) const {
  return WriteFile(PathOf(kSummary), json);
}

}  // namespace scanline::cli
