#include "client/cli/ava_true_boxes.h"

#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "client/cli/outcome.h"
#include "client/cli/spec.h"

namespace scanline::cli {

std::vector<v1::BoundingBox> TrueBoxesOf(absl::Span<const AvaAction> truths,
                                         const std::string& video) {
  std::set<std::pair<int64_t, std::array<double, 4>>> people;
  for (const AvaAction& row : truths) {
    if (row.frame.first != video) continue;
    people.insert({row.frame.second, {row.x_min, row.y_min, row.x_max, row.y_max}});
  }
  std::vector<v1::BoundingBox> boxes;
  for (const auto& [milliseconds, sides] : people) {
    v1::BoundingBox box;
    SetSeconds(static_cast<double>(milliseconds) / 1000, box.mutable_time_offset());
    box.set_x_min(static_cast<float>(sides[0]));
    box.set_y_min(static_cast<float>(sides[1]));
    box.set_x_max(static_cast<float>(sides[2]));
    box.set_y_max(static_cast<float>(sides[3]));
    boxes.push_back(std::move(box));
  }
  return boxes;
}

size_t BoxesOfARequest(absl::Span<const v1::BoundingBox> boxes, size_t most) {
  if (boxes.size() <= most) return boxes.size();
  const auto seconds = [&](size_t box) { return Seconds(boxes[box].time_offset()); };
  size_t count = most;
  while (count > 0 && seconds(count - 1) == seconds(most)) --count;
  return count > 0 ? count : most;
}

}  // namespace scanline::cli
