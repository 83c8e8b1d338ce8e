#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline::cli {

// What a retrieval evaluation asks: distinct clips, distinct captions, and which belong together.
struct RetrievalSet {
  struct Clip {
    std::string path;              // as the manifest has it, at its first mention
    std::string file;              // the same from here
    std::vector<size_t> captions;  // places, ascending
  };
  struct Caption {
    std::string text;
    std::vector<size_t> clips;  // places, ascending
  };
  std::vector<Clip> clips;        // in the order of the manifest
  std::vector<Caption> captions;  // likewise
};

// Of a manifest (manifest_rows.h) with the column `caption`; in JSON a list of captions will do. A
// clip may have several captions and a caption several clips; a row that is there twice counts
// once, and a clip that is spelt in two ways (a.mp4, ./a.mp4, a link) is one clip.
absl::StatusOr<RetrievalSet> ParseRetrievalSet(absl::string_view text, const std::string& folder);
absl::StatusOr<RetrievalSet> ReadRetrievalSet(const std::string& file);

}  // namespace scanline::cli
