// Against Hugging Face's tokenizer (tests/data/tokenizer/README.md), and on input that nobody
// meant.
#include "model/text/word_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "tests/model/text/text_support.h"

namespace scanline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Tokens Tokenize(const std::string& text, const WordPieceOptions& options = {}) {
  const auto pieces = WordPiece::Create(BertVocab(), options);
  const auto codes = DecodeUtf8(text);
  if (!pieces.ok() || !codes.ok()) throw std::runtime_error("not a vocabulary, or not UTF-8");
  return pieces->Tokenize(*codes);
}

uint64_t Fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

TEST(WordPiece, EveryVectorGivesTheSameIds) {
  const nlohmann::json vectors = TokenizerVectors();
  ASSERT_FALSE(vectors.at("vectors").empty());
  for (const auto& vector : vectors.at("vectors")) {
    const Tokens tokens = Tokenize(vector.at("text"), {.special_tokens = true});
    EXPECT_EQ(tokens.ids, vector.at("ids").get<std::vector<int>>()) << vector.at("text");
    EXPECT_FALSE(tokens.truncated);
  }
}

TEST(WordPiece, TruncatesAsTheVectorsDo) {
  const nlohmann::json vectors = TokenizerVectors();
  ASSERT_FALSE(vectors.at("padded16").empty());
  for (const auto& vector : vectors.at("padded16")) {
    const auto mask = vector.at("attention_mask").get<std::vector<int>>();
    auto want = vector.at("ids").get<std::vector<int>>();
    want.resize(static_cast<size_t>(std::count(mask.begin(), mask.end(), 1)));
    const Tokens tokens = Tokenize(
        vector.at("text"), {.max_length = static_cast<int>(mask.size()), .special_tokens = true});
    EXPECT_EQ(tokens.ids, want) << vector.at("text");
  }
}

// unicode.json of the tests' own data: hashes of the ids of each 4,096 code points.
TEST(WordPiece, EveryCodePointIsReadAsHuggingFaceReadsItButForThoseListed) {
  const auto stored =
      nlohmann::json::parse(ReadWhole(SCANLINE_SOURCE_DIR "/tests/data/tokenizer/unicode.json"));
  const auto pieces = WordPiece::Create(BertVocab(), {.special_tokens = true});
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  std::set<int32_t> listed;
  for (const auto& range : stored.at("differing")) {
    for (int32_t code = range[0]; code <= range[1]; ++code) listed.insert(code);
  }
  EXPECT_EQ(listed.size(), stored.at("differing_count").get<size_t>());
  ASSERT_FALSE(stored.at("blocks").empty());
  for (const auto& [name, want] : stored.at("blocks").items()) {
    const int32_t first = std::stoi(name, nullptr, 16);
    std::string lines;
    for (int32_t code = first; code < first + 0x1000; ++code) {
      if ((code >= 0xD800 && code < 0xE000) || listed.count(code) != 0) continue;
      absl::StrAppend(&lines, absl::StrJoin(pieces->Tokenize({code}).ids, " "), " | ",
                      absl::StrJoin(pieces->Tokenize({'a', code, 'b'}).ids, " "), " ");
    }
    EXPECT_EQ(absl::StrFormat("%016x", Fnv1a(lines)), want.get<std::string>()) << name;
  }
}

TEST(WordPiece, SaysWhatItCutAndWhatItDidNotKnow) {
  const Tokens tokens = Tokenize("A \xF0\x9F\x98\x80 man \xF0\x9F\x98\x80 RUNS", {.max_length = 5});
  EXPECT_THAT(tokens.ids, ElementsAre(101, 1037, 100, 2158, 102));
  EXPECT_THAT(tokens.unknown_words, ElementsAre("\xF0\x9F\x98\x80"));
  EXPECT_TRUE(tokens.truncated);
  EXPECT_FALSE(Tokenize("a man runs", {.max_length = 5}).truncated);
}

TEST(WordPiece, LiteralSpecialTokensAreTextUnlessAskedFor) {
  EXPECT_THAT(Tokenize("[MASK]").ids, ElementsAre(101, 1031, 7308, 1033, 102));
  EXPECT_THAT(Tokenize("[MASK]", {.special_tokens = true}).ids, ElementsAre(101, 103, 102));
}

TEST(WordPiece, NeedsTheTokensThatItPutsIn) {
  const std::vector<std::string> vocab = {"[PAD]", "[UNK]", "[CLS]", "a"};
  const auto pieces = WordPiece::Create(vocab, {});
  EXPECT_EQ(ReasonOf(pieces.status()), Reason::kBundleInvalid);
  EXPECT_THAT(std::string(pieces.status().message()), HasSubstr("[SEP]"));
}

TEST(WordPiece, OneWordOf4096BytesIsOneUnknown) {
  const Tokens tokens = Tokenize(std::string(4096, 'a'));
  EXPECT_THAT(tokens.ids, ElementsAre(101, 100, 102));
  ASSERT_THAT(tokens.unknown_words, SizeIs(1));
  EXPECT_LT(tokens.unknown_words[0].size(), 100U);
}

TEST(WordPiece, AHundredCharactersAreStillAWord) {
  EXPECT_GT(Tokenize(std::string(100, 'a')).ids.size(), 3U);
  EXPECT_THAT(Tokenize(std::string(101, 'a')).ids, ElementsAre(101, 100, 102));
}

TEST(WordPiece, ReportsAtMost20UnknownWords) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    AppendUtf8(0x1F400 + i % 200, &text);
    text += ' ';
  }
  EXPECT_THAT(Tokenize(text).unknown_words, SizeIs(20));
}

TEST(WordPiece, ControlCharactersVanish) {
  EXPECT_EQ(Tokenize(std::string("hello\0world", 11)).ids, Tokenize("helloworld").ids);
  EXPECT_THAT(Tokenize(std::string(4096, '\0')).ids, ElementsAre(101, 102));
}

TEST(DecodeUtf8, RefusesWhatIsNotUtf8) {
  for (const char* text : {"a\xFF", "a\xC3", "a\xC0\xAF", "a\xED\xA0\x80", "a\xF4\x90\x80\x80",
                           "a\xF8\x88\x80\x80\x80", "a\x80"}) {
    const auto codes = DecodeUtf8(text);
    ASSERT_FALSE(codes.ok()) << text;
    EXPECT_EQ(ReasonOf(codes.status()), Reason::kFieldInvalid);
    EXPECT_THAT(std::string(codes.status().message()), HasSubstr("offset 1"));
  }
  EXPECT_THAT(*DecodeUtf8(""), IsEmpty());
}

}  // namespace
}  // namespace scanline::testing
