#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/files.h"

namespace scanline::testing {

// One clip of a corpus: its row of manifest.json (tests/data/clips/README.md explains the fields).
struct CorpusClip {
  std::string file;
  std::string expect;        // "ok", "partial", "error:CLASS"
  std::vector<int64_t> ids;  // the numbers drawn in the displayed frames; -1: not readable
  int64_t frames = -1;       // displayed frames; -1: not given
  nlohmann::json row;

  std::vector<uint8_t> bytes() const { return ReadBytes(ClipsFolder() + "/" + file); }
  bool ok() const { return expect == "ok"; }
  bool readable() const {
    if (ids.empty()) return false;
    for (int64_t id : ids) {
      if (id < 0) return false;
    }
    return true;
  }
};

// "0-3,5,-1" -> 0 1 2 3 5 -1
inline std::vector<int64_t> ExpandRuns(const std::string& runs) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < runs.size();) {
    const size_t comma = std::min(runs.find(',', at), runs.size());
    const std::string part = runs.substr(at, comma - at);
    const size_t dash = part.find('-', 1);
    const int64_t first = std::stoll(part.substr(0, dash));
    const int64_t last = dash == std::string::npos ? first : std::stoll(part.substr(dash + 1));
    for (int64_t n = first; n <= last; ++n) numbers.push_back(n);
    at = comma + 1;
  }
  return numbers;
}

// Every clip of the corpus. Throws where the manifest is missing or empty.
inline std::vector<CorpusClip> ReadCorpus() {
  const std::vector<uint8_t> text = ReadBytes(ClipsFolder() + "/manifest.json");
  std::vector<CorpusClip> clips;
  const auto manifest = nlohmann::json::parse(text.begin(), text.end());
  for (const auto& row : manifest.at("clips")) {
    CorpusClip clip;
    clip.file = row.at("file");
    clip.expect = row.at("expect");
    clip.ids = ExpandRuns(row.value("ids", ""));
    clip.frames = row.value("frames", int64_t{-1});
    clip.row = row;
    clips.push_back(std::move(clip));
  }
  if (clips.empty()) throw std::runtime_error("the corpus in " + ClipsFolder() + " is empty");
  return clips;
}

}  // namespace scanline::testing
