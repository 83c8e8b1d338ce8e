#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clip.h"
#include "model/config.h"
#include "model/predictor.h"

// What the model says of the texts that it was given, in the words of the request: pure functions.
// `prompts` neighbours stand for one text of the client's (model/match.h, WithPrompts).

namespace scanline {

// The predictor's FIELD_INVALID of "texts[i]" in the request's own words: the index among the
// client's texts, with `prefix` ("spec.match_text.") in front. Other errors are left as they are.
absl::Status NameText(const absl::Status& status, const std::string& prefix, int prompts);

// UNKNOWN_TERMS and TEXT_TRUNCATED, each with the text's index.
std::vector<Notice> TextNotices(const std::vector<TextEmbedding>& texts, int prompts,
                                const TextTowerConfig& tower, const std::string& prefix);

}  // namespace scanline
