#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/same_file.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// What a run of eval classify or retrieval with `-o folder` writes; nothing for an empty `folder`.
std::vector<NamedFile> FilesOfEval(const std::string& folder);

// The folder of `eval -o DIR`, from which an interrupted run goes on:
//   run.json            the task, the model (with the SHA-256 of its weights) and the settings
//   predictions.ndjson  a line for each answer, written as it comes
//   summary.json        written at the end
// Held by one run at a time.
class EvalFolder {
 public:
  // Looks at a line that is there already: whether it stays, or an error if it cannot be read.
  using Keep = std::function<absl::StatusOr<bool>(absl::string_view line)>;

  // Makes the folder, or takes one that was made for the same task ("classify", "retrieval"), model
  // and settings. A torn last line and lines that `keep` refuses go; so that a later answer for the
  // same clip is the only one. Errors: another task or model or other settings, files that are not
  // ours, another run at work, and what the file system says.
  static absl::StatusOr<std::unique_ptr<EvalFolder>> Open(const std::string& folder,
                                                          const std::string& task,
                                                          const v1::Model& model,
                                                          const v1::AnalysisSpec& spec,
                                                          const Keep& keep);
  ~EvalFolder();

  // A whole line, which reaches the file before this returns.
  absl::Status Append(absl::string_view line) const;

  absl::Status WriteSummary(absl::string_view json) const;

 private:
  explicit EvalFolder(std::string folder) : folder_(std::move(folder)) {}
  absl::Status CheckRun(const std::string& task, const v1::Model& model,
                        const v1::AnalysisSpec& spec) const;
  absl::Status OpenPredictions(const Keep& keep);
  std::string PathOf(const char* name) const;

  const std::string folder_;
  int file_ = -1;
};

}  // namespace scanline::cli
