#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "model/text/caption_cleanup.h"
#include "model/text/known_words.h"
#include "model/text/word_piece.h"

namespace scanline {
namespace {

constexpr int kMaxTokens = 24;

const std::vector<std::string>& Vocab() {
  static const auto* const vocab = new std::vector<std::string>{"[PAD]",
                                                                "[UNK]",
                                                                "[CLS]",
                                                                "[SEP]",
                                                                "[MASK]",
                                                                "a",
                                                                "b",
                                                                "the",
                                                                "ball",
                                                                "##a",
                                                                "##b",
                                                                "##s",
                                                                "##ing",
                                                                "person",
                                                                "camera",
                                                                "moves",
                                                                "left",
                                                                "\xCF\x83",
                                                                "##\xCF\x82",
                                                                "\xE4\xB8\xAD",
                                                                ".",
                                                                "-",
                                                                "1",
                                                                "##2",
                                                                "\xE1\x84\x80",
                                                                "##\xE1\x85\xA1"};
  return *vocab;
}

void CheckTokens(const Tokens& tokens, size_t most) {
  SCANLINE_CHECK(tokens.ids.size() <= most);
  for (const int id : tokens.ids) {
    SCANLINE_CHECK(id >= 0 && static_cast<size_t>(id) < Vocab().size());
  }
  for (const std::string& word : tokens.unknown_words) {
    SCANLINE_CHECK(!word.empty() && word.size() < 100 && DecodeUtf8(word).ok());
  }
}

}  // namespace
}  // namespace scanline

// Any bytes are refused as not UTF-8, or read as tokens of the vocabulary, with and without the
// clean-up.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scanline;  // NOLINT(google-build-using-namespace)
  static const auto* const pieces = new absl::StatusOr<WordPiece>(
      WordPiece::Create(Vocab(), {.max_length = kMaxTokens, .special_tokens = true}));
  static const auto* const words = new KnownWords(Vocab(), "-'", kMaxTokens);
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto codes = DecodeUtf8(text);
  if (!codes.ok()) {
    SCANLINE_CHECK(!codes.status().message().empty());
    return 0;
  }
  SCANLINE_CHECK(EncodeUtf8(*codes) == text);
  const CodePoints clean = CleanUpCaption(*codes);
  SCANLINE_CHECK(clean.size() <= 2 * codes->size());
  for (const CodePoints& read : {*codes, clean}) {
    const Tokens tokens = (*pieces)->Tokenize(read);
    CheckTokens(tokens, kMaxTokens);
    SCANLINE_CHECK(tokens.ids.front() == 2 && tokens.ids.back() == 3);
    CheckTokens(words->Read(read), kMaxTokens);
  }
  return 0;
}
