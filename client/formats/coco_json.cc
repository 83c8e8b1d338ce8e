#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "client/formats/detections.h"
#include "client/formats/looks.h"

namespace scanline::formats {
namespace {

using nlohmann::ordered_json;

// Scores come as float: 0.81, not 0.8100000023841858.
double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

ordered_json Annotation(const DetectedVideo& video, const Detection& d, const ScoredClass& action,
                        int64_t id, int64_t image_id) {
  const double width = (d.x1 - d.x0) * video.width, height = (d.y1 - d.y0) * video.height;
  return {{"id", id},
          {"image_id", image_id},
          {"category_id", action.id},
          {"bbox",
           {Rounded(d.x0 * video.width), Rounded(d.y0 * video.height), Rounded(width),
            Rounded(height)}},
          {"area", Rounded(width * height)},
          {"iscrowd", 0},
          {"score", Rounded(action.score)},
          {"track_id", d.track_id},
          {"person_score", Rounded(d.person_score)}};
}

}  // namespace

std::string ToCocoJson(const std::vector<DetectedVideo>& videos) {
  ordered_json file = {{"info", {{"description", "detections by Scanline"}}},
                       {"videos", ordered_json::array()},
                       {"images", ordered_json::array()},
                       {"annotations", ordered_json::array()},
                       {"categories", ordered_json::array()}};
  std::map<int, std::string> categories;
  int64_t video_id = 0, image_id = 0, annotation_id = 0;
  for (const DetectedVideo& video : videos) {
    file["videos"].push_back({{"id", ++video_id},
                              {"name", video.name},
                              {"width", video.width},
                              {"height", video.height}});
    for (const auto& [frame, look] : LooksOf(video)) {
      file["images"].push_back({{"id", ++image_id},
                                {"file_name", video.name + "#" + std::to_string(frame)},
                                {"width", video.width},
                                {"height", video.height},
                                {"video_id", video_id},
                                {"frame_index", frame},
                                {"time_s", Rounded(look.seconds)}});
      for (const Detection* person : look.people) {
        for (const ScoredClass& action : person->classes) {
          categories.emplace(action.id, action.label);
          file["annotations"].push_back(
              Annotation(video, *person, action, ++annotation_id, image_id));
        }
      }
    }
  }
  for (const auto& [id, name] : categories) {
    file["categories"].push_back({{"id", id}, {"name", name}, {"supercategory", "action"}});
  }
  // File names may be any bytes.
  return file.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace scanline::formats
