#include "client/index/skipped.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/index/files.h"
#include "client/index/json_path.h"
#include "client/index/layout.h"

namespace scanline {
namespace {

std::optional<SkippedFile> ParseSkipped(absl::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line.begin(), line.end());
    SkippedFile skipped;
    skipped.file.path = TakePath(json);
    json.at("bytes").get_to(skipped.file.bytes);
    json.at("mtime_ns").get_to(skipped.file.mtime_ns);
    json.at("sha256").get_to(skipped.sha256);
    if (json.contains("same_as")) {
      skipped.same_as = TakePath(json["same_as"]);
    } else {
      json.at("error").at("code").get_to(skipped.code);
      json.at("error").at("reason").get_to(skipped.reason);
      json.at("error").at("message").get_to(skipped.message);
    }
    return skipped;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string SkippedLine(const SkippedFile& skipped) {
  nlohmann::ordered_json json;
  PutPath(skipped.file.path, json);
  json["bytes"] = skipped.file.bytes;
  json["mtime_ns"] = skipped.file.mtime_ns;
  json["sha256"] = skipped.sha256;
  if (!skipped.same_as.empty()) {
    PutPath(skipped.same_as, json["same_as"]);
  } else {
    json["error"] = {
        {"code", skipped.code}, {"reason", skipped.reason}, {"message", skipped.message}};
  }
  return OneLine(json);
}

std::vector<SkippedFile> ReadSkipped(const std::string& folder) {
  std::vector<SkippedFile> all;
  const auto text = ReadWholeFile(index_layout::PathOf(folder, index_layout::kSkipped));
  if (!text.ok()) return all;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    if (auto skipped = ParseSkipped(line)) all.push_back(*std::move(skipped));
  }
  return all;
}

absl::Status WriteSkipped(const std::string& folder, const std::vector<SkippedFile>& skipped) {
  std::string text;
  for (const SkippedFile& one : skipped) absl::StrAppend(&text, SkippedLine(one), "\n");
  return ReplaceFile(index_layout::PathOf(folder, index_layout::kSkipped), text);
}

absl::Status AppendSkipped(const std::string& folder, const SkippedFile& skipped) {
  const std::string path = index_layout::PathOf(folder, index_layout::kSkipped);
  const OwnedFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.ok()) return FileError("write", path);
  SCANLINE_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(fd.get(), path));
  return WriteAt(fd.get(), absl::StrCat(SkippedLine(skipped), "\n"), size, path);
}

}  // namespace scanline
