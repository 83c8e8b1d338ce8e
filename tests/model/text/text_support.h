#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/text_list.h"
#include "nlohmann/json.hpp"

namespace scanline::testing {

inline std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// tests/data/tokenizer, or another set of the same form: SCANLINE_TOKENIZER_VECTORS is its folder.
inline std::string TokenizerDir() {
  const char* dir = std::getenv("SCANLINE_TOKENIZER_VECTORS");
  return dir != nullptr && *dir != '\0' ? dir : SCANLINE_SOURCE_DIR "/tests/data/tokenizer";
}

inline nlohmann::json TokenizerVectors() {
  return nlohmann::json::parse(ReadWhole(TokenizerDir() + "/vectors.json"));
}

// The 30,522 pieces of bert-base-uncased.
inline const std::vector<std::string>& BertVocab() {
  static const auto* const vocab = [] {
    const std::string path = TokenizerDir() + "/vocab.txt";
    auto list = ParseTextList(ReadWhole(path), path);
    if (!list.ok()) throw std::runtime_error(list.status().ToString());
    return new std::vector<std::string>(*std::move(list));
  }();
  return *vocab;
}

}  // namespace scanline::testing
