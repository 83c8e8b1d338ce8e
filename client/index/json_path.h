#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace scanline {

// Puts a path, which may be any bytes, into an object as "path" and, where it is not UTF-8, also as
// "path_bytes" in base64.
void PutPath(const std::string& path, nlohmann::ordered_json& json);
std::string TakePath(const nlohmann::json& json);  // throws as json.at() does

// One line; bytes that are no UTF-8 become U+FFFD.
std::string OneLine(const nlohmann::ordered_json& json);

}  // namespace scanline
