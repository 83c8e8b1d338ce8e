#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/text/tokens.h"
#include "model/text/unicode.h"

namespace scanline {

struct WordPieceOptions {
  int max_length = 512;         // tokens, [CLS] and [SEP] included; at least 3
  bool special_tokens = false;  // a literal [CLS], [MASK], ... in the text is that token
};

// The uncased BERT tokenizer: clean-up, lower case, accents off, ideographs and punctuation on
// their own, then the longest pieces of the vocabulary from the left. Same ids as Hugging Face's
// BertWordPieceTokenizer; where Unicode's versions differ: tests/data/tokenizer/README.md.
class WordPiece {
 public:
  // Keeps references into `vocab`: entry i is token i, a piece within a word starts with ##.
  // BUNDLE_INVALID where [UNK], [CLS] or [SEP] is missing.
  static absl::StatusOr<WordPiece> Create(const std::vector<std::string>& vocab,
                                          const WordPieceOptions& options);

  // [CLS] ... [SEP]. Unknown words are reported as WordPiece saw them.
  Tokens Tokenize(const CodePoints& text) const;

 private:
  using Pieces = absl::flat_hash_map<absl::string_view, int>;

  WordPiece() = default;

  void AddText(absl::Span<const int32_t> text, Tokens* tokens) const;
  void AddWord(const CodePoints& word, Tokens* tokens) const;
  bool Split(const CodePoints& word, std::vector<int>* ids) const;
  // The special token that `text` starts with; its length in *length. -1: none.
  int SpecialToken(absl::Span<const int32_t> text, size_t* length) const;

  WordPieceOptions options_;
  Pieces first_;        // pieces that start a word, special tokens included
  Pieces later_;        // pieces within a word, without ##
  Pieces special_;      // of the five that the vocabulary has
  size_t longest_ = 0;  // bytes of the longest piece
  int unknown_ = 0;
  int cls_ = 0;
  int sep_ = 0;
};

}  // namespace scanline
