#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/args.h"
#include "client/index/search.h"

namespace scanline::cli {

// A moment as it is shown.
struct Hit {
  Moment moment;
  std::optional<float> match_logit;  // with rerank
  bool missing = false;              // the file is gone
  bool changed = false;              // the file is not the one that was indexed any more
};

// All hits, best first, in one format. JSON: {"rank", "score", "match_logit", "path", "start_s",
// "end_s", "id", "missing", "changed", "open"}.
std::string RenderHits(const std::vector<Hit>& hits, Format format, bool color);

// The path as one types it: beginning at the working folder where it lies below that.
std::string ShortPath(const std::string& path);

}  // namespace scanline::cli
