#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cli/args.h"
#include "client/cli/session.h"
#include "client/cli/text_batch.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// The labels of `classify --texts FILE`, one a line. Errors: as of ReadTexts, a label that is there
// twice, more or longer ones than the server takes.
absl::StatusOr<std::vector<TextLine>> ReadLabels(const std::string& file,
                                                 const v1::ServerLimits& limits);

// Asks the server whether the model can read each label. A label that it cannot read is an
// INVALID_ARGUMENT (IsAboutAText) naming the file, the line and the label, of the first such; any
// other error is that of the call.
absl::Status CheckLabels(const std::string& file, const std::vector<TextLine>& labels,
                         const Session& session, absl::Duration timeout);

// Asks for the match with each label instead of for the model's own classes.
void AskForLabels(const std::vector<std::string>& labels, v1::AnalysisSpec& spec);

// Fills the classes of the clip and of its windows in, as of a model whose classes the texts are:
// class_index is the text's place among `labels`, score its TextMatch.score, logit its similarity
// over `temperature` (0: left out); the best args.top_k of at least args.min_score, best first, the
// earlier label first among equals. Warnings and errors name the labels instead of their index.
void LabelByTexts(const std::vector<std::string>& labels, float temperature, const Args& args,
                  absl::StatusOr<v1::ClipResult>& result);

}  // namespace scanline::cli
