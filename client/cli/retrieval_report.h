#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/retrieval_gallery.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// Both ways of asking.
struct BothWays {
  RetrievalScores text_to_video;
  RetrievalScores video_to_text;
};

// A whole retrieval evaluation. Keeps references to what it is made of.
struct RetrievalReport {
  const v1::Model& model;
  const v1::AnalysisSpec& spec;
  const std::string& manifest;
  const RetrievalSet& set;
  const std::vector<RetrievalAnswer>& clips;
  const std::vector<CaptionAnswer>& captions;
  const RetrievalGallery& gallery;
  BothWays by_similarity;
  std::optional<BothWays> reranked;
};

// Clips and captions that could not be asked for or with.
size_t SkippedClips(const RetrievalReport& report);
size_t SkippedCaptions(const RetrievalReport& report);

// summary.json: nothing in it depends on when or in how many runs the answers came.
std::string RetrievalJson(const RetrievalReport& report, int indent);
// A row for each way of asking.
std::string RetrievalCsv(const RetrievalReport& report);
std::string RetrievalTable(const RetrievalReport& report, bool color);

}  // namespace scanline::cli
