#include "client/index/layout.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/index/files.h"

namespace scanline::index_layout {

std::string PathOf(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).native();
}

absl::StatusOr<State> ReadState(const std::string& folder) {
  State state{.replacing = true};
  std::string path = PathOf(folder, kReplace);
  auto text = ReadWholeFile(path);
  if (absl::IsNotFound(text.status())) {
    state.replacing = false;
    path = PathOf(folder, kInfo);
    text = ReadWholeFile(path);
  }
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat("no index in ", folder, ": it has no ", kInfo, "; scanline index makes one"));
  }
  if (!text.ok()) return text.status();
  auto info = ParseIndexInfo(*text);
  if (!info.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not that of an index: ", info.status().message()));
  }
  state.info = *std::move(info);
  return state;
}

}  // namespace scanline::index_layout
