#include "model/text/word_piece.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"

namespace scanline {
namespace {

constexpr size_t kMaxWord = 100;  // characters; a longer word is [UNK]
constexpr absl::string_view kSpecial[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

// Control characters out, white space is a space, ideographs stand alone.
CodePoints Clean(absl::Span<const int32_t> text) {
  CodePoints clean;
  clean.reserve(text.size());
  for (const int32_t code : text) {
    if (code == 0 || code == 0xFFFD || IsControl(code)) continue;
    if (IsIdeograph(code)) {
      clean.insert(clean.end(), {' ', code, ' '});
    } else {
      clean.push_back(IsSpace(code) ? ' ' : code);
    }
  }
  return clean;
}

}  // namespace

absl::StatusOr<WordPiece> WordPiece::Create(const std::vector<std::string>& vocab,
                                            const WordPieceOptions& options) {
  WordPiece pieces;
  pieces.options_ = options;
  for (size_t id = 0; id < vocab.size(); ++id) {
    absl::string_view piece = vocab[id];
    const bool later = absl::ConsumePrefix(&piece, "##") && !piece.empty();
    (later ? pieces.later_ : pieces.first_)[later ? piece : absl::string_view(vocab[id])] =
        static_cast<int>(id);
    pieces.longest_ = std::max(pieces.longest_, piece.size());
  }
  for (const absl::string_view special : kSpecial) {
    const auto at = pieces.first_.find(special);
    if (at != pieces.first_.end()) pieces.special_[special] = at->second;
  }
  for (const auto& [name, id] : {std::pair<absl::string_view, int*>{"[UNK]", &pieces.unknown_},
                                 {"[CLS]", &pieces.cls_},
                                 {"[SEP]", &pieces.sep_}}) {
    const auto at = pieces.special_.find(name);
    if (at == pieces.special_.end()) {
      return MakeError(Reason::kBundleInvalid,
                       absl::StrCat("the vocabulary of a BERT text tower needs ", name,
                                    "; it is not among its ", vocab.size(), " entries"));
    }
    *id = at->second;
  }
  return pieces;
}

Tokens WordPiece::Tokenize(const CodePoints& text) const {
  Tokens tokens;
  tokens.ids.push_back(cls_);
  size_t begin = 0;
  for (size_t at = 0; options_.special_tokens && at < text.size();) {
    size_t length = 1;
    const int special = SpecialToken(absl::MakeConstSpan(text).subspan(at), &length);
    if (special >= 0) {
      AddText(absl::MakeConstSpan(text).subspan(begin, at - begin), &tokens);
      tokens.ids.push_back(special);
      begin = at + length;
    }
    at += length;
  }
  AddText(absl::MakeConstSpan(text).subspan(begin), &tokens);
  const auto most = static_cast<size_t>(options_.max_length) - 1;
  tokens.truncated = tokens.ids.size() > most;
  if (tokens.truncated) tokens.ids.resize(most);
  tokens.ids.push_back(sep_);
  return tokens;
}

int WordPiece::SpecialToken(absl::Span<const int32_t> text, size_t* length) const {
  for (const auto& [name, id] : special_) {
    if (text.size() < name.size() || !std::equal(name.begin(), name.end(), text.begin())) continue;
    *length = name.size();
    return id;
  }
  return -1;
}

void WordPiece::AddText(absl::Span<const int32_t> text, Tokens* tokens) const {
  CodePoints word;
  const auto end_word = [&] {
    if (!word.empty()) AddWord(word, tokens);
    word.clear();
  };
  for (const int32_t code : WithoutAccents(Clean(text))) {
    if (IsSpace(code)) {
      end_word();
    } else if (IsPunctuation(code)) {
      end_word();
      AddWord({code}, tokens);
    } else {
      word.push_back(code);
    }
  }
  end_word();
}

void WordPiece::AddWord(const CodePoints& word, Tokens* tokens) const {
  CodePoints lower;
  lower.reserve(word.size());
  for (const int32_t code : word) lower.push_back(ToLower(code));
  std::vector<int> ids;
  if (lower.size() <= kMaxWord && Split(lower, &ids)) {
    tokens->ids.insert(tokens->ids.end(), ids.begin(), ids.end());
    return;
  }
  tokens->ids.push_back(unknown_);
  ReportUnknown(EncodeUtf8(lower), tokens);
}

// The longest piece that the vocabulary has, from the left, again and again; false where none fits.
bool WordPiece::Split(const CodePoints& word, std::vector<int>* ids) const {
  std::string text;
  std::vector<size_t> ends;  // byte offset after each character
  for (const int32_t code : word) {
    AppendUtf8(code, &text);
    ends.push_back(text.size());
  }
  size_t begin = 0;
  for (size_t from = 0; from < word.size();) {
    const Pieces& pieces = from == 0 ? first_ : later_;
    size_t to = word.size();
    auto found = pieces.end();
    for (; to > from; --to) {
      if (ends[to - 1] - begin > longest_) continue;
      found = pieces.find(absl::string_view(text).substr(begin, ends[to - 1] - begin));
      if (found != pieces.end()) break;
    }
    if (found == pieces.end()) return false;
    ids->push_back(found->second);
    begin = ends[to - 1];
    from = to;
  }
  return true;
}

}  // namespace scanline
