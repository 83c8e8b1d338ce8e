#include "client/index/index_info.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace scanline {
namespace {

constexpr int kFormat = 1;

}  // namespace

std::string IndexInfoJson(const IndexInfo& info) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["model"] = info.model;
  json["weights_sha256"] = info.weights_sha256;
  json["dim"] = info.dim;
  json["count"] = info.count;
  json["normalised"] = info.normalised;
  json["window_s"] = info.window_seconds;
  json["stride_s"] = info.stride_seconds;
  json["created"] = info.created;
  json["generation"] = info.generation;
  return absl::StrCat(json.dump(1), "\n");
}

absl::StatusOr<IndexInfo> ParseIndexInfo(absl::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text.begin(), text.end());
    if (json.at("format") != kFormat) {
      return absl::InvalidArgumentError(
          absl::StrCat("format ", json.at("format").dump(), ", this program reads ", kFormat));
    }
    IndexInfo info;
    json.at("model").get_to(info.model);
    json.at("weights_sha256").get_to(info.weights_sha256);
    json.at("dim").get_to(info.dim);
    json.at("count").get_to(info.count);
    json.at("normalised").get_to(info.normalised);
    json.at("window_s").get_to(info.window_seconds);
    json.at("stride_s").get_to(info.stride_seconds);
    json.at("created").get_to(info.created);
    json.at("generation").get_to(info.generation);
    if (info.dim < 1 || info.count < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dim ", info.dim, " and count ", info.count, " make no index"));
    }
    return info;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace scanline
