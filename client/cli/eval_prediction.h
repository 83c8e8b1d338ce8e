#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/eval_manifest.h"
#include "client/client_error.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// What became of one clip of an evaluation: an answer, or why there is none.
struct Prediction {
  std::string path;
  std::string sha256;    // of the clip's bytes, in hexadecimal digits; "": not known
  int class_index = -1;  // the truth
  std::vector<int> ranked;
  std::vector<std::string> warnings;  // reasons
  std::optional<ClientError> error;
};

// A line of predictions.ndjson: {"input", "sha256", "truth": {"class_index", "label"}, "result":
// <ClipResult>} or with "error": {code, reason, message} for "result".
std::string PredictionLine(const ManifestEntry& entry, const std::string& sha256,
                           const absl::StatusOr<v1::ClipResult>& result);
absl::StatusOr<Prediction> ParsePrediction(absl::string_view line);

// Whether another try could only give the same: the server answered, or judged the clip itself.
// What depends on the moment (a missing file, a full queue, a deadline) is not final.
bool IsFinal(const Prediction& prediction);
bool IsFinal(const std::optional<ClientError>& error);

// The member "error" of a line; nullopt where it has none. Throws what nlohmann::json throws.
std::optional<ClientError> ErrorMember(const nlohmann::json& line);

}  // namespace scanline::cli
