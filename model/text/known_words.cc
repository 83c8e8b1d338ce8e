#include "model/text/known_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

namespace scanline {

KnownWords::KnownWords(const std::vector<std::string>& vocab, std::string removed, int max_words)
    : removed_(std::move(removed)), max_words_(static_cast<size_t>(max_words)) {
  for (size_t id = 1; id < vocab.size(); ++id) ids_.emplace(vocab[id], static_cast<int>(id));
}

Tokens KnownWords::Read(const CodePoints& text) const {
  Tokens tokens;
  Run run;
  for (const int32_t code : LowerCase(text)) {
    const bool ascii = code < 0x80;
    const char character = ascii ? static_cast<char>(code) : ' ';
    if (ascii && removed_.find(character) != std::string::npos) continue;
    if (ascii && absl::ascii_isalnum(static_cast<unsigned char>(character))) {
      run.word += character;
      run.whole += character;
      continue;
    }
    EndWord(&run, &tokens);
    if (ascii || IsSpace(code)) {
      EndRun(&run, &tokens);
    } else {
      AppendUtf8(code, &run.whole);
      run.unknown = true;
    }
  }
  EndWord(&run, &tokens);
  EndRun(&run, &tokens);
  tokens.truncated = tokens.ids.size() > max_words_;
  if (tokens.truncated) tokens.ids.resize(max_words_);
  return tokens;
}

void KnownWords::EndWord(Run* run, Tokens* tokens) const {
  if (run->word.empty()) return;
  const auto at = ids_.find(run->word);
  if (at != ids_.end()) {
    tokens->ids.push_back(at->second);
  } else {
    run->unknown = true;
  }
  run->word.clear();
}

void KnownWords::EndRun(Run* run, Tokens* tokens) {
  if (run->unknown) ReportUnknown(run->whole, tokens);
  *run = {};
}

}  // namespace scanline
