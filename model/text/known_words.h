#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "model/text/tokens.h"
#include "model/text/unicode.h"

namespace scanline {

// A vocabulary of whole words: lower case, `removed` characters taken out, everything outside a-z
// and 0-9 separates. Unknown words are left out and reported; what is neither ASCII nor white space
// belongs to no word, and is reported with all that it touches, whose a-z parts are still read.
class KnownWords {
 public:
  // Keeps references into `vocab`: entry i is word i, entry 0 (padding) is none.
  KnownWords(const std::vector<std::string>& vocab, std::string removed, int max_words);

  // The ids of the known words, none where there are none; the words after max_words are cut.
  Tokens Read(const CodePoints& text) const;

 private:
  // What stands between white space and ASCII punctuation.
  struct Run {
    std::string whole;
    std::string word;  // the a-z and 0-9 at its end
    bool unknown = false;
  };
  void EndWord(Run* run, Tokens* tokens) const;
  static void EndRun(Run* run, Tokens* tokens);

  absl::flat_hash_map<absl::string_view, int> ids_;
  std::string removed_;
  size_t max_words_;
};

}  // namespace scanline
