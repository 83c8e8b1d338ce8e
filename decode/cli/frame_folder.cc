#include "decode/cli/frame_folder.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "decode/cli/contact_sheet.h"
#include "decode/cli/npy.h"

namespace scanline {
namespace fs = std::filesystem;

std::string FrameFolder::FrameName(size_t place) {
  return absl::StrFormat("frame_%02d.npy", place);
}

std::string FrameFolder::KeptPath(int64_t index) const {
  return absl::StrCat(path_, "/.kept_", index, ".npy");
}

absl::Status FrameFolder::Create() {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot make the folder ", path_, ": ", error.message()));
}

absl::Status FrameFolder::Keep(const FullFrame& frame) {
  const RgbView view{frame.rgb, frame.width, frame.height, frame.stride};
  thumbnails_.insert_or_assign(frame.index, MakeThumbnail(view));
  return WriteNpy(KeptPath(frame.index), view);
}

absl::Status FrameFolder::Finish(const Clip& clip) {
  std::vector<uint8_t> input;
  std::vector<SheetCell> cells;
  size_t pictures = 0;
  std::map<int64_t, std::string> named;
  std::error_code error;
  for (const View& view : clip.views) {
    for (const int picture : view.pictures) {
      input.insert(input.end(), clip.picture(picture),
                   clip.picture(picture) + clip.picture_bytes());
      ++pictures;
      if (view.spatial_view != 0) continue;
      const SampledFrame& sampled = clip.sampled[picture / clip.spatial_views];
      const std::string path = absl::StrCat(path_, "/", FrameName(cells.size()));
      const auto [first, is_new] = named.emplace(sampled.index, path);
      if (is_new) {
        fs::rename(KeptPath(sampled.index), path, error);
      } else {
        fs::copy_file(first->second, path, fs::copy_options::overwrite_existing, error);
      }
      if (error) {
        return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", error.message()));
      }
      const std::string caption =
          absl::StrFormat("#%d %.2fs", sampled.index, sampled.seconds.value());
      cells.push_back({&thumbnails_.at(sampled.index), caption});
    }
  }
  for (const auto& [index, thumbnail] : thumbnails_) {
    if (named.count(index) == 0) fs::remove(KeptPath(index), error);
  }
  SCANLINE_RETURN_IF_ERROR(WriteNpy(absl::StrCat(path_, "/input.npy"),
                                    {static_cast<int64_t>(pictures), clip.height, clip.width, 3},
                                    input));
  return WriteContactSheet(absl::StrCat(path_, "/sheet.png"), cells);
}

}  // namespace scanline
