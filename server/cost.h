#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

// What requests cost a worker, as pure functions, in one unit for clips and texts: the token
// equivalent, the multiply-adds that the backbone spends on one patch token. A clip's cost is its
// tokens. A text's tokens are estimated from its bytes, since no tokenizer runs before the worker
// does: 6 bytes a word, 4 bytes a word piece, as in English.

namespace scanline {

// Of encoding the texts; at least 1 where there are any.
int64_t TextCost(const ModelConfig& config, const std::vector<std::string>& texts);

// Of the fusion layers over the texts that are looked at (kRerankTexts) and each
// of `views`.
int64_t RerankCost(const ModelConfig& config, const std::vector<std::string>& texts, int64_t views);

}  // namespace scanline
