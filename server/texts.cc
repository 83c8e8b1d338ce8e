#include "server/texts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/error.h"

namespace scanline {
namespace {

constexpr size_t kNamedWords = 20;

// Of one text in all its prompts, each word once.
std::vector<std::string> UnknownWords(absl::Span<const TextEmbedding> texts) {
  std::vector<std::string> words;
  for (const TextEmbedding& text : texts) {
    for (const std::string& word : text.unknown_words) {
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
  return words;
}

std::string Longest(const TextTowerConfig& tower) {
  return tower.type == TextTowerType::kGatedConv ? absl::StrCat(tower.max_words, " words")
                                                 : absl::StrCat(tower.max_length, " tokens");
}

std::string Named(const std::vector<std::string>& words) {
  std::vector<std::string> named;
  for (const std::string& word : words) {
    if (named.size() == kNamedWords) break;
    named.push_back(absl::StrCat("\"", word, "\""));
  }
  const size_t more = words.size() - named.size();
  return absl::StrCat(absl::StrJoin(named, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

absl::Status NameText(const absl::Status& status, const std::string& prefix, int prompts) {
  if (ReasonOf(status) != Reason::kFieldInvalid) return status;
  Metadata metadata = MetadataOf(status);
  for (auto& [key, value] : metadata) {
    absl::string_view index = value;
    int64_t i = 0;
    if (key != "field" || !absl::ConsumePrefix(&index, "texts[") ||
        !absl::ConsumeSuffix(&index, "]") || !absl::SimpleAtoi(index, &i)) {
      continue;
    }
    const std::string as_given =
        std::exchange(value, absl::StrCat(prefix, "texts[", i / prompts, "]"));
    return MakeError(Reason::kFieldInvalid,
                     absl::StrReplaceAll(status.message(), {{as_given, value}}), metadata);
  }
  return status;
}

std::vector<Notice> TextNotices(const std::vector<TextEmbedding>& texts, int prompts,
                                const TextTowerConfig& tower, const std::string& prefix) {
  std::vector<Notice> notices;
  for (size_t first = 0; first < texts.size(); first += prompts) {
    const std::string name = absl::StrCat(prefix, "texts[", first / prompts, "]");
    const absl::Span<const TextEmbedding> own(&texts[first], prompts);
    if (const auto words = UnknownWords(own); !words.empty()) {
      notices.push_back(
          {"UNKNOWN_TERMS", absl::StrCat(name, ": the model does not know ", Named(words))});
    }
    if (std::any_of(own.begin(), own.end(), [](const auto& text) { return text.truncated; })) {
      notices.push_back(
          {"TEXT_TRUNCATED", absl::StrCat(name, ": longer than the ", Longest(tower),
                                          " that the model reads; the rest was cut")});
    }
  }
  return notices;
}

}  // namespace scanline
