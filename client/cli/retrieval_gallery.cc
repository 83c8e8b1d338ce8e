#include "client/cli/retrieval_gallery.h"

#include <algorithm>
#include <set>

namespace scanline::cli {
namespace {

// Where the values of `wanted` stand in `all`, of which both are ascending; those that are not in
// it are left out.
std::vector<size_t> PlacesIn(const std::vector<size_t>& all, const std::vector<size_t>& wanted) {
  std::vector<size_t> places;
  for (const size_t value : wanted) {
    const auto found = std::lower_bound(all.begin(), all.end(), value);
    if (found != all.end() && *found == value) {
      places.push_back(static_cast<size_t>(found - all.begin()));
    }
  }
  return places;
}

// Gives the most similar items their match logits.
template <typename LogitOf>
void Rerank(std::vector<ItemScore>& items, const LogitOf& logit_of) {
  for (const size_t place : MostSimilar(items, kRerankedItems)) {
    items[place].match = logit_of(place);
  }
}

double LogitOf(const RetrievalAnswer& clip, const std::string& text) {
  const auto found = clip.match_logit.find(text);
  return found == clip.match_logit.end() ? kNotReranked : found->second;
}

}  // namespace

RetrievalGallery::RetrievalGallery(const RetrievalSet& set,
                                   const std::vector<RetrievalAnswer>& clips,
                                   const std::vector<CaptionAnswer>& captions)
    : set_(set), answers_(clips), caption_answers_(captions) {
  const auto is_scored = [&](size_t clip, size_t caption) {
    return !clips[clip].skipped() && !captions[caption].error.has_value();
  };
  for (size_t i = 0; i < set.clips.size(); ++i) {
    const auto& texts = set.clips[i].captions;
    const auto scored = [&](size_t caption) { return is_scored(i, caption); };
    if (std::any_of(texts.begin(), texts.end(), scored)) clips_.push_back(i);
  }
  for (size_t i = 0; i < set.captions.size(); ++i) {
    const auto& videos = set.captions[i].clips;
    const auto scored = [&](size_t clip) { return is_scored(clip, i); };
    if (std::any_of(videos.begin(), videos.end(), scored)) captions_.push_back(i);
  }
}

std::vector<ItemScore> RetrievalGallery::ClipsFor(size_t caption, bool rerank) const {
  std::vector<ItemScore> items(clips_.size());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].similarity = Similarity(Caption(caption).vector, Clip(i).embedding);
  }
  const std::string& text = set_.captions[captions_[caption]].text;
  if (rerank) Rerank(items, [&](size_t i) { return LogitOf(Clip(i), text); });
  return items;
}

std::vector<ItemScore> RetrievalGallery::CaptionsFor(size_t clip, bool rerank) const {
  std::vector<ItemScore> items(captions_.size());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].similarity = Similarity(Caption(i).vector, Clip(clip).embedding);
  }
  if (rerank) {
    Rerank(items, [&](size_t i) { return LogitOf(Clip(clip), set_.captions[captions_[i]].text); });
  }
  return items;
}

RetrievalScores RetrievalGallery::TextToVideo(bool rerank) const {
  return ScoreRetrieval(
      captions_.size(), [&](size_t caption) { return ClipsFor(caption, rerank); },
      [&](size_t caption) { return PlacesIn(clips_, set_.captions[captions_[caption]].clips); });
}

RetrievalScores RetrievalGallery::VideoToText(bool rerank) const {
  return ScoreRetrieval(
      clips_.size(), [&](size_t clip) { return CaptionsFor(clip, rerank); },
      [&](size_t clip) { return PlacesIn(captions_, set_.clips[clips_[clip]].captions); });
}

std::map<size_t, std::vector<std::string>> RetrievalGallery::MissingMatches() const {
  std::map<size_t, std::set<size_t>> wanted;  // captions, by clip
  for (size_t i = 0; i < captions_.size(); ++i) {
    for (const size_t clip : MostSimilar(ClipsFor(i, false), kRerankedItems)) {
      wanted[clips_[clip]].insert(captions_[i]);
    }
  }
  for (size_t i = 0; i < clips_.size(); ++i) {
    for (const size_t caption : MostSimilar(CaptionsFor(i, false), kRerankedItems)) {
      wanted[clips_[i]].insert(captions_[caption]);
    }
  }
  std::map<size_t, std::vector<std::string>> missing;
  for (const auto& [clip, captions] : wanted) {
    for (const size_t caption : captions) {
      const std::string& text = set_.captions[caption].text;
      if (answers_[clip].match_logit.count(text) == 0) missing[clip].push_back(text);
    }
  }
  return missing;
}

}  // namespace scanline::cli
