#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/retrieval_answers.h"
#include "client/cli/retrieval_score.h"
#include "client/cli/retrieval_set.h"
#include "client/client_error.h"

namespace scanline::cli {

// What is known of one caption.
struct CaptionAnswer {
  std::vector<float> vector;
  std::vector<std::string> warnings;  // messages
  std::optional<ClientError> error;   // the model cannot read it
};

// The clips and captions that are scored: those of the manifest's rows of which neither was
// skipped, as if the manifest did not have the others. Keeps references to what it is made of.
class RetrievalGallery {
 public:
  RetrievalGallery(const RetrievalSet& set, const std::vector<RetrievalAnswer>& clips,
                   const std::vector<CaptionAnswer>& captions);

  const std::vector<size_t>& clips() const { return clips_; }  // places in the set, ascending
  const std::vector<size_t>& captions() const { return captions_; }

  // Each caption asks for its clips, and each clip for its captions. Queries and items of the
  // misses are places in captions() and clips(). With `rerank` by the match logits that are known.
  RetrievalScores TextToVideo(bool rerank) const;
  RetrievalScores VideoToText(bool rerank) const;

  // The texts, by the clip's place in the set, whose match logits reranking needs and that are not
  // known: for each caption those of its kRerankedItems most similar clips, and the other way
  // round.
  std::map<size_t, std::vector<std::string>> MissingMatches() const;

 private:
  std::vector<ItemScore> ClipsFor(size_t caption, bool rerank) const;  // places in captions(), ...
  std::vector<ItemScore> CaptionsFor(size_t clip, bool rerank) const;
  const RetrievalAnswer& Clip(size_t i) const { return answers_[clips_[i]]; }
  const CaptionAnswer& Caption(size_t i) const { return caption_answers_[captions_[i]]; }

  const RetrievalSet& set_;
  const std::vector<RetrievalAnswer>& answers_;
  const std::vector<CaptionAnswer>& caption_answers_;
  std::vector<size_t> clips_;
  std::vector<size_t> captions_;
};

}  // namespace scanline::cli
