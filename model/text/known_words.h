#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "model/text/tokens.h"
#include "model/text/unicode.h"

namespace scanline {

// A vocabulary of whole words: lower case, `removed` characters taken out, everything outside a-z
// and 0-9 separates. Unknown words are left out and reported.
class KnownWords {
 public:
  // Keeps references into `vocab`: entry i is word i, entry 0 (padding) is none.
  KnownWords(const std::vector<std::string>& vocab, std::string removed, int max_words);

  // The ids of the known words, none where there are none; the words after max_words are cut.
  Tokens Read(const CodePoints& text) const;

 private:
  void Add(const std::string& word, Tokens* tokens) const;

  absl::flat_hash_map<absl::string_view, int> ids_;
  std::string removed_;
  size_t max_words_;
};

}  // namespace scanline
