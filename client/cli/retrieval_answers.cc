#include "client/cli/retrieval_answers.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/eval_prediction.h"
#include "client/cli/json.h"
#include "client/cli/json_format.h"

namespace scanline::cli {
namespace {

// A line of predictions.ndjson: of one of the two kinds.
struct Line {
  std::string path;
  std::string sha256;
  RetrievalAnswer answer;  // what the line adds
};

Line FromJson(const nlohmann::json& json) {
  Line line{.path = json.at("input"), .sha256 = json.at("sha256")};
  RetrievalAnswer& answer = line.answer;
  answer.error = ErrorMember(json);
  if (answer.error.has_value()) return line;
  if (const auto rerank = json.find("rerank"); rerank != json.end()) {
    for (const auto& one : *rerank) answer.match_logit[one.at("text")] = one.at("match_logit");
    return line;
  }
  const nlohmann::json& result = json.at("result");
  answer.sha256 = line.sha256;
  result.at("embeddings").at(0).at("values").get_to(answer.embedding);
  for (const auto& warning : result.at("warnings")) {
    answer.warnings.push_back(warning.at("reason"));
  }
  return line;
}

absl::StatusOr<Line> ParseLine(absl::string_view text) {
  try {
    return FromJson(nlohmann::json::parse(text.begin(), text.end()));
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

void Merge(RetrievalAnswer from, RetrievalAnswer& into) {
  if (!from.embedding.empty()) {
    into.embedding = std::move(from.embedding);
    into.sha256 = std::move(from.sha256);
  }
  into.match_logit.merge(from.match_logit);
  into.warnings.insert(into.warnings.end(), from.warnings.begin(), from.warnings.end());
  if (from.error.has_value()) into.error = std::move(from.error);
}

std::string Begin(const RetrievalSet::Clip& clip, const std::string& sha256) {
  return absl::StrCat("{\"input\":", JsonString(clip.path), ",\"sha256\":", JsonString(sha256),
                      ",");
}

}  // namespace

RetrievalAnswers::RetrievalAnswers(const RetrievalSet& set)
    : set_(set), answers_(set.clips.size()) {
  for (size_t i = 0; i < set.clips.size(); ++i) place_of_[set.clips[i].path] = i;
}

absl::StatusOr<bool> RetrievalAnswers::TakeLine(
    absl::string_view line, const std::function<std::string(size_t place)>& digest_of) {
  SCANLINE_ASSIGN_OR_RETURN(Line read, ParseLine(line));
  if (!IsFinal(read.answer.error)) return false;
  const auto found = place_of_.find(read.path);
  if (found == place_of_.end()) return true;
  const size_t place = found->second;
  if (read.sha256.empty() || read.sha256 != digest_of(place)) return false;
  const MutexLock lock(mu_);
  Merge(std::move(read.answer), answers_[place]);
  return true;
}

void RetrievalAnswers::AddEmbedding(size_t place, const std::string& sha256,
                                    const absl::StatusOr<v1::ClipResult>& result) {
  const RetrievalSet::Clip& clip = set_.clips[place];
  const auto caption = [&](std::string* out, size_t at) {
    absl::StrAppend(out, JsonString(set_.captions[at].text));
  };
  if (result.ok() && result->embeddings().empty()) {
    return AddEmbedding(place, sha256, absl::InternalError("the answer has no embedding"));
  }
  Add(place,
      absl::StrCat(Begin(clip, sha256), "\"captions\":[",
                   absl::StrJoin(clip.captions, ",", caption), "],", ResultMember(result), "}\n"));
}

void RetrievalAnswers::AddMatches(size_t place, const std::string& sha256,
                                  const std::vector<std::string>& texts,
                                  const absl::StatusOr<v1::ClipResult>& result) {
  std::string member;
  if (!result.ok()) {
    member = ResultMember(result);
  } else if (static_cast<size_t>(result->text_matches_size()) != texts.size()) {
    return AddMatches(place, sha256, texts, absl::InternalError("matches are missing"));
  } else {
    nlohmann::ordered_json rerank = nlohmann::ordered_json::array();
    for (size_t i = 0; i < texts.size(); ++i) {
      rerank.push_back({{"text", texts[i]},
                        {"match_logit", result->text_matches(static_cast<int>(i)).match_logit()}});
    }
    member = absl::StrCat("\"rerank\":", rerank.dump());
  }
  Add(place, absl::StrCat(Begin(set_.clips[place], sha256), member, "}\n"));
}

void RetrievalAnswers::Add(size_t place, const std::string& line) {
  auto read = ParseLine(line);
  const MutexLock lock(mu_);
  if (!read.ok()) {  // Numbers that JSON has not, which no healthy server sends.
    answers_[place].error = ErrorOf(read.status());
    return;
  }
  if (folder_ != nullptr && written_.ok()) written_ = folder_->Append(line);
  Merge(std::move(read->answer), answers_[place]);
}

std::vector<RetrievalAnswer> RetrievalAnswers::all() const {
  const MutexLock lock(mu_);
  return answers_;
}

std::string RetrievalAnswers::Sha256(size_t place) const {
  const MutexLock lock(mu_);
  return answers_[place].sha256;
}

absl::Status RetrievalAnswers::written() const {
  const MutexLock lock(mu_);
  return written_;
}

}  // namespace scanline::cli
