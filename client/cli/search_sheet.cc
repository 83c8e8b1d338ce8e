#include "client/cli/search_sheet.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/render/contact_sheet.h"
#include "client/render/frames_at.h"

namespace scanline::cli {
namespace {

std::string Clock(double seconds) {
  const auto tenths = static_cast<int64_t>(std::llround(seconds * 10));
  const int64_t whole = tenths / 10;
  std::string text = absl::StrFormat("%d:%02d.%d", whole / 60 % 60, whole % 60, tenths % 10);
  if (whole < 3600) return text;
  return absl::StrFormat("%d:%02d:%02d.%d", whole / 3600, whole / 60 % 60, whole % 60, tenths % 10);
}

std::vector<std::string> TextOf(const Hit& hit) {
  const Item& item = hit.moment.item;
  std::string score = absl::StrFormat("score %.3f", hit.moment.score);
  if (hit.match_logit) absl::StrAppendFormat(&score, ", match %.2f", *hit.match_logit);
  return {std::filesystem::path(item.file.path).filename().native(),
          absl::StrCat(Clock(item.start_seconds), " to ", Clock(item.end_seconds)), score};
}

double Middle(const Item& item) { return (item.start_seconds + item.end_seconds) / 2; }

}  // namespace

absl::Status SaveSheet(const Args::Search& args, const std::string& model,
                       const std::vector<Hit>& hits) {
  std::vector<render::SheetTile> tiles;
  std::map<std::string, std::vector<size_t>> hits_of;  // by path: a file is decoded once
  for (size_t i = 0; i < hits.size(); ++i) {
    tiles.push_back({.lines = TextOf(hits[i])});
    if (hits[i].changed) {  // Its pictures are not what was found.
      tiles[i].lines.emplace_back("changed since it was indexed");
      continue;
    }
    hits_of[hits[i].moment.item.file.path].push_back(i);
  }
  for (const auto& [path, places] : hits_of) {
    std::vector<double> seconds;
    for (const size_t place : places) seconds.push_back(Middle(hits[place].moment.item));
    auto frames = render::FramesAt(path, seconds);
    for (size_t i = 0; i < places.size(); ++i) {
      render::SheetTile& tile = tiles[places[i]];
      if (!frames.ok()) {
        tile.lines.emplace_back(hits[places[i]].missing ? "no such file any more"
                                                        : "cannot be read");
        continue;
      }
      render::TimedFrame& frame = (*frames)[i];
      tile.width = frame.width;
      tile.height = frame.height;
      tile.rgb = std::move(frame.rgb);
    }
  }
  return render::WriteContactSheet(
      args.save, tiles,
      {.title = args.text.empty() ? absl::StrCat("like ", args.clip) : args.text,
       .subtitle = absl::StrCat(hits.size(), " moments, ", absl::StripPrefix(model, "models/"))});
}

}  // namespace scanline::cli
