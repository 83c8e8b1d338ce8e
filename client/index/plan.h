#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/index/index_writer.h"

namespace scanline {

// What is to be done so that an index holds what is found, sending as little as possible.
struct IndexPlan {
  // What stays of the index. `rewrite`: that is not what there is.
  std::vector<IndexedFile> kept;
  bool rewrite = false;

  std::vector<size_t> send;                                // places in `found`, ascending
  std::vector<std::pair<size_t, std::string>> duplicates;  // and the path that has the same bytes
  std::vector<std::string> missing;                        // in the index, gone from the disk, kept

  int unchanged = 0;  // of `found`
  int moved = 0;      // of `found`: rows that another path had, which has these bytes no more
  int changed = 0;    // of `send`: rows of their earlier bytes go
  int pruned = 0;     // of the index
};

struct PlanQuestions {
  std::function<bool(const std::string& path)> exists;
  // Of the file's bytes, hexadecimal; "": cannot be read, which is then for the sender to say.
  // Asked only where a file's length is that of another, or its time alone has changed.
  std::function<std::string(const std::string& path)> sha256;
};

// `indexed` is what the index has; `found` what it is to hold, no path twice. What is indexed but
// not found stays, unless it is gone from the disk and `prune`.
IndexPlan PlanIndex(const std::vector<IndexedFile>& indexed, const std::vector<FileStamp>& found,
                    bool prune, const PlanQuestions& ask);

}  // namespace scanline
