#include "client/index/json_path.h"

#include "absl/strings/escaping.h"

namespace scanline {
namespace {

constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
constexpr auto kIgnore = nlohmann::json::error_handler_t::ignore;

bool IsUtf8(const std::string& text) {
  const nlohmann::json json(text);
  return json.dump(-1, ' ', false, kReplace) == json.dump(-1, ' ', false, kIgnore);
}

}  // namespace

void PutPath(const std::string& path, nlohmann::ordered_json& json) {
  json["path"] = path;
  if (!IsUtf8(path)) json["path_bytes"] = absl::Base64Escape(path);
}

std::string TakePath(const nlohmann::json& json) {
  const auto bytes = json.find("path_bytes");
  std::string path;
  if (bytes != json.end() && absl::Base64Unescape(bytes->get<std::string>(), &path)) return path;
  return json.at("path").get<std::string>();
}

std::string OneLine(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace scanline
