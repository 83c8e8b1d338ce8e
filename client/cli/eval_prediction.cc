#include "client/cli/eval_prediction.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/json.h"
#include "client/cli/json_format.h"

namespace scanline::cli {
namespace {

absl::StatusCode CodeNamed(const std::string& name) {
  for (int code = 0; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) == name) return candidate;
  }
  return absl::StatusCode::kUnknown;
}

Prediction FromJson(const nlohmann::json& line) {
  Prediction prediction;
  prediction.path = line.at("input");
  prediction.sha256 = line.value("sha256", "");
  prediction.class_index = line.at("truth").at("class_index");
  prediction.error = ErrorMember(line);
  if (prediction.error.has_value()) return prediction;
  const nlohmann::json& result = line.at("result");
  for (const auto& answer : result.at("classes")) {
    prediction.ranked.push_back(answer.at("class_index"));
  }
  for (const auto& warning : result.at("warnings")) {
    prediction.warnings.push_back(warning.at("reason"));
  }
  return prediction;
}

}  // namespace

std::string PredictionLine(const ManifestEntry& entry, const std::string& sha256,
                           const absl::StatusOr<v1::ClipResult>& result) {
  return absl::StrCat("{\"input\":", JsonString(entry.path), ",\"sha256\":", JsonString(sha256),
                      ",\"truth\":{\"class_index\":", entry.class_index,
                      ",\"label\":", JsonString(entry.label), "},", ResultMember(result), "}\n");
}

absl::StatusOr<Prediction> ParsePrediction(absl::string_view line) {
  try {
    return FromJson(nlohmann::json::parse(line.begin(), line.end()));
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

std::optional<ClientError> ErrorMember(const nlohmann::json& line) {
  const auto error = line.find("error");
  if (error == line.end()) return std::nullopt;
  return ClientError{.code = CodeNamed(error->at("code")),
                     .reason = error->at("reason"),
                     .message = error->at("message")};
}

bool IsFinal(const Prediction& prediction) { return IsFinal(prediction.error); }

bool IsFinal(const std::optional<ClientError>& error) {
  if (!error.has_value()) return true;
  switch (error->code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

}  // namespace scanline::cli
