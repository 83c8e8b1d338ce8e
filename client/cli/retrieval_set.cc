#include "client/cli/retrieval_set.h"

#include <filesystem>
#include <map>
#include <set>

#include "base/status_macros.h"
#include "client/cli/manifest_rows.h"

namespace scanline::cli {

absl::StatusOr<RetrievalSet> ParseRetrievalSet(absl::string_view text, const std::string& folder) {
  SCANLINE_ASSIGN_OR_RETURN(
      const std::vector<ManifestRow> rows,
      ParseManifestRows(text, folder,
                        {.name = "caption", .example = "a dog jumps", .lists = true}));
  RetrievalSet set;
  std::map<std::string, size_t> clip_at;  // by canonical path
  std::map<std::string, size_t> caption_at;
  std::set<std::pair<size_t, size_t>> pairs;
  for (const ManifestRow& row : rows) {
    const auto [clip, new_clip] = clip_at.emplace(CanonicalPath(row.file), set.clips.size());
    if (new_clip) set.clips.push_back({row.path, row.file, {}});
    const auto [caption, new_caption] = caption_at.emplace(row.value, set.captions.size());
    if (new_caption) set.captions.push_back({row.value, {}});
    pairs.emplace(clip->second, caption->second);
  }
  for (const auto& [clip, caption] : pairs) {
    set.clips[clip].captions.push_back(caption);
    set.captions[caption].clips.push_back(clip);
  }
  return set;
}

absl::StatusOr<RetrievalSet> ReadRetrievalSet(const std::string& file) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadManifestText(file));
  auto set = ParseRetrievalSet(text, std::filesystem::path(file).parent_path().native());
  if (!set.ok()) return InManifest(file, set.status());
  return set;
}

}  // namespace scanline::cli
