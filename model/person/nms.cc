#include "model/person/nms.h"

#include <algorithm>
#include <cstddef>

namespace scanline {
namespace {

float Area(const PersonBox& box) { return (box.x_max - box.x_min) * (box.y_max - box.y_min); }

}  // namespace

float IntersectionOverUnion(const PersonBox& a, const PersonBox& b) {
  const float area_a = Area(a);
  const float area_b = Area(b);
  if (!(area_a > 0) || !(area_b > 0)) return 0;
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  const float shared = std::max(width, 0.0F) * std::max(height, 0.0F);
  return shared / (area_a + area_b - shared);
}

std::vector<PersonBox> SuppressOverlaps(std::vector<PersonBox> boxes,
                                        const SuppressOptions& options) {
  // Negated, so that a score that is no number goes too.
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(),
                             [&](const PersonBox& b) { return !(b.score > options.min_score); }),
              boxes.end());
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const PersonBox& a, const PersonBox& b) { return a.score > b.score; });
  std::vector<PersonBox> kept;
  for (const PersonBox& box : boxes) {
    if (kept.size() >= static_cast<size_t>(std::max(options.max_boxes, 0))) break;
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const PersonBox& better) {
      return IntersectionOverUnion(box, better) > options.max_iou;
    });
    if (!covered) kept.push_back(box);
  }
  return kept;
}

}  // namespace scanline
