#include "client/cli/save_name.h"

#include <array>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace scanline::cli {
namespace {

constexpr std::array<std::pair<const char*, SaveAs>, 8> kEnds = {{{".mp4", SaveAs::kMp4},
                                                                  {".webm", SaveAs::kWebm},
                                                                  {".png", SaveAs::kSheet},
                                                                  {".ass", SaveAs::kAss},
                                                                  {".vtt", SaveAs::kVtt},
                                                                  {".csv", SaveAs::kAvaCsv},
                                                                  {".json", SaveAs::kCocoJson},
                                                                  {".xml", SaveAs::kCvatXml}}};

bool NeedsBoxes(SaveAs as) {
  return as == SaveAs::kAvaCsv || as == SaveAs::kCocoJson || as == SaveAs::kCvatXml;
}

}  // namespace

std::optional<SaveAs> SaveAsOf(absl::string_view file) {
  for (const auto& [end, as] : kEnds) {
    if (absl::EndsWithIgnoreCase(file, end)) return as;
  }
  return std::nullopt;
}

std::string WrongSave(const std::vector<std::string>& files, bool boxes) {
  std::set<std::string> seen;
  for (const std::string& file : files) {
    const std::optional<SaveAs> as = SaveAsOf(file);
    if (!as || (NeedsBoxes(*as) && !boxes)) {
      return absl::StrCat("--save ", file, ": expected a name that ends with .mp4, .webm, .png, ",
                          boxes ? ".ass, .vtt, .csv, .json or .xml" : ".ass or .vtt");
    }
    if (!seen.insert(file).second) return absl::StrCat("--save ", file, " is there twice");
  }
  return "";
}

}  // namespace scanline::cli
