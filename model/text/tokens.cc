#include "model/text/tokens.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/error.h"

namespace scanline {
namespace {

// Enough to recognise a word by, so that a text of one long word does not come back in a warning.
constexpr size_t kShownBytes = 64;
constexpr size_t kMostWords = 20;

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

std::string Shown(absl::string_view word) {
  if (word.size() <= kShownBytes) return std::string(word);
  size_t end = kShownBytes;
  while (end > 0 && ContinuesCharacter(word[end])) --end;
  return absl::StrCat(word.substr(0, end), "...");
}

}  // namespace

void ReportUnknown(absl::string_view word, Tokens* tokens) {
  std::vector<std::string>& words = tokens->unknown_words;
  if (words.size() == kMostWords) return;
  std::string shown = Shown(word);
  if (std::find(words.begin(), words.end(), shown) == words.end())
    words.push_back(std::move(shown));
}

absl::Status TextError(size_t index, absl::string_view what) {
  const std::string field = absl::StrCat("texts[", index, "]");
  Metadata metadata = {{"field", field}};
  const std::vector<std::string> halves =
      absl::StrSplit(absl::StripPrefix(what, "expected "), absl::MaxSplits(", found ", 1));
  if (halves.size() == 2) {
    metadata.emplace_back("expected", halves[0]);
    metadata.emplace_back("found", halves[1]);
  }
  return MakeError(Reason::kFieldInvalid, absl::StrCat(field, ": ", what), std::move(metadata));
}

absl::StatusOr<CodePoints> DecodeText(absl::string_view text, size_t index) {
  auto codes = DecodeUtf8(text);
  if (!codes.ok()) return TextError(index, codes.status().message());
  return codes;
}

}  // namespace scanline
