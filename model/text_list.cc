#include "model/text_list.h"

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

bool IsUtf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseTextList(absl::string_view text,
                                                       absl::string_view path) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string& line = lines[i];
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const char* const wrong = line.empty()    ? "the line is empty"
                              : !IsUtf8(line) ? "expected UTF-8, found other bytes"
                                              : nullptr;
    if (wrong == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ":", i + 1, ": ", wrong));
  }
  SCANLINE_RETURN_IF_ERROR(CheckDistinct(lines, path));
  return lines;
}

absl::Status CheckDistinct(const std::vector<std::string>& entries, absl::string_view path) {
  std::map<absl::string_view, size_t> first;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto [at, is_new] = first.emplace(entries[i], i + 1);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, ":", i + 1, ": \"", entries[i],
                                                   "\" is in line ", at->second, " already"));
  }
  return absl::OkStatus();
}

bool IsModelId(absl::string_view text) {
  constexpr char kFirst[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr char kLater[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return text.size() <= 64 && text.find_first_of(kFirst) == 0 &&
         text.find_first_not_of(kLater) == absl::string_view::npos;
}

}  // namespace scanline
