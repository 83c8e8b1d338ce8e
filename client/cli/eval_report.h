#pragma once

#include <string>
#include <vector>

#include "client/cli/args.h"
#include "client/cli/eval_prediction.h"
#include "client/cli/eval_score.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// A whole evaluation. Clips without an answer are listed, and count neither as right nor as wrong.
struct EvalReport {
  v1::Model model;
  v1::AnalysisSpec spec;
  std::string manifest;
  Scores scores;
  std::vector<Prediction> skipped;  // those with an error
  std::vector<Prediction> warned;   // answered from damaged input
};

// `predictions` in the order of the manifest.
EvalReport MakeReport(const v1::Model& model, const v1::AnalysisSpec& spec,
                      const std::string& manifest, const std::vector<Prediction>& predictions);

// summary.json: nothing in it depends on when or in how many runs the answers came.
std::string ReportJson(const EvalReport& report, int indent);
// A row for each class that has clips.
std::string ReportCsv(const EvalReport& report);
std::string ReportTable(const EvalReport& report, bool color);

}  // namespace scanline::cli
