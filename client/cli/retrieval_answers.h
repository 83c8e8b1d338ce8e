#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "client/cli/eval_folder.h"
#include "client/cli/retrieval_set.h"
#include "client/client_error.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// What is known of one clip of a retrieval evaluation.
struct RetrievalAnswer {
  std::vector<float> embedding;               // empty: not yet
  std::string sha256;                         // of the bytes that the embedding is of
  std::map<std::string, double> match_logit;  // by text, of those that were reranked
  std::vector<std::string> warnings;          // reasons
  std::optional<ClientError> error;           // why there is none, of whichever request failed

  bool skipped() const { return error.has_value(); }
};

// The answers so far. Each is a line of the folder's predictions.ndjson:
//   {"input", "sha256", "captions": [...], "result": <ClipResult>}            the embedding
//   {"input", "sha256", "rerank": [{"text", "match_logit"}, ...]}             some match logits
// or either with "error": {code, reason, message} in place of its last member. Any thread may add.
class RetrievalAnswers {
 public:
  explicit RetrievalAnswers(const RetrievalSet& set);

  // For EvalFolder::Open. A line stays if it is about a clip that the manifest does not list, or
  // final and about the bytes that the clip has now, of which `digest_of` gives the SHA-256; what
  // stays of this manifest's clips is remembered.
  absl::StatusOr<bool> TakeLine(absl::string_view line,
                                const std::function<std::string(size_t place)>& digest_of);
  // Where new lines go; null: nowhere.
  void WriteTo(const EvalFolder* folder) { folder_ = folder; }

  void AddEmbedding(size_t place, const std::string& sha256,
                    const absl::StatusOr<v1::ClipResult>& result);
  // `texts` are those that were sent, in the order of the result's matches.
  void AddMatches(size_t place, const std::string& sha256, const std::vector<std::string>& texts,
                  const absl::StatusOr<v1::ClipResult>& result);

  // A copy, in the order of the set.
  std::vector<RetrievalAnswer> all() const;
  std::string Sha256(size_t place) const;  // as in RetrievalAnswer
  absl::Status written() const;

 private:
  // A line that this class made.
  void Add(size_t place, const std::string& line);

  const RetrievalSet& set_;
  std::map<std::string, size_t> place_of_;  // by path
  const EvalFolder* folder_ = nullptr;
  mutable Mutex mu_;
  std::vector<RetrievalAnswer> answers_ ABSL_GUARDED_BY(mu_);
  absl::Status written_ ABSL_GUARDED_BY(mu_);
};

}  // namespace scanline::cli
