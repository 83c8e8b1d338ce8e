#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace scanline::testing {

// A server for tests of what the client does with vectors: the real contract on a real socket (port
// 0), with answers that the clips and the texts themselves ask for. Both are words:
//   1 0 7   the vector (1, 0), scaled to unit length unless that is not wanted; 7 is what reranking
//           looks at: the match logit is minus the distance of the two numbers
//   bad     of a clip: VIDEO_UNREADABLE
//   slow    the answer takes 100 ms
//   words that are no numbers are not known: UNKNOWN_TERMS, or FIELD_INVALID where no number is
//   there
// Windows, where asked for, are two: of the vector and of the vector turned to the left.
// Its models: "walker", which only classifies and is the first, "finder", and "finder2", which does
// not rerank.
class RetrievalDouble {
 public:
  RetrievalDouble();
  ~RetrievalDouble();

  // Calls `hook` whenever a clip is to be matched with several texts. Before the first call.
  void OnMatch(std::function<void()> hook);
  std::string host_port() const;
  int clips() const;                     // that arrived to be embedded
  int texts() const;                     // that arrived in EmbedText
  int most_texts() const;                // in one request
  std::vector<int> match_sizes() const;  // texts of each clip that arrived to be matched
  bool used_prompts() const;             // of the last match

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scanline::testing
