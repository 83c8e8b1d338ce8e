#include "client/index/item.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/index/json_path.h"

namespace scanline {
namespace {

constexpr size_t kIdDigits = 32;

constexpr absl::string_view kPath = ",\"path\":";
constexpr absl::string_view kStart = ",\"start_s\":";
constexpr absl::string_view kSha256 = ",\"sha256\":";

// What ItemLine writes about the file: before and behind the moment's times. Inside a string a
// quote has a backslash before it, so the marks are those of the object itself.
struct FileParts {
  absl::string_view path;
  absl::string_view rest;
};
FileParts PartsOf(absl::string_view line) {
  const size_t path = line.find(kPath);
  const size_t start = line.find(kStart);
  const size_t sha256 = line.find(kSha256);
  if (path > start || start > sha256 || sha256 == absl::string_view::npos) return {};
  return {line.substr(path, start - path), line.substr(sha256)};
}

}  // namespace

bool AreOfOneFile(absl::string_view line, absl::string_view other) {
  const FileParts a = PartsOf(line);
  const FileParts b = PartsOf(other);
  return !a.path.empty() && a.path == b.path && a.rest == b.rest;
}

std::string ItemId(absl::string_view sha256, double start_seconds) {
  return absl::StrCat(sha256.substr(0, kIdDigits), "-",
                      static_cast<int64_t>(std::llround(start_seconds * 1000)));
}

std::string ItemLine(const Item& item) {
  nlohmann::ordered_json json;
  json["id"] = item.id;
  PutPath(item.file.path, json);
  json["start_s"] = item.start_seconds;
  json["end_s"] = item.end_seconds;
  json["sha256"] = item.sha256;
  json["bytes"] = item.file.bytes;
  json["mtime_ns"] = item.file.mtime_ns;
  return OneLine(json);
}

absl::StatusOr<Item> ParseItem(absl::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line.begin(), line.end());
    Item item;
    json.at("id").get_to(item.id);
    item.file.path = TakePath(json);
    json.at("start_s").get_to(item.start_seconds);
    json.at("end_s").get_to(item.end_seconds);
    json.at("sha256").get_to(item.sha256);
    json.at("bytes").get_to(item.file.bytes);
    json.at("mtime_ns").get_to(item.file.mtime_ns);
    return item;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

}  // namespace scanline
