#pragma once

#include <vector>

#include "model/person/person_box.h"

namespace scanline {

// Area of what two boxes share, by that of what they cover; 0 where one of them is empty.
float IntersectionOverUnion(const PersonBox& a, const PersonBox& b);

struct SuppressOptions {
  float min_score = 0;  // a box needs more
  float max_iou = 0.6F;
  int max_boxes = 100;
};

// Greedy non-maximum suppression, as TensorFlow's NonMaxSuppressionV3: best first, and of equal
// scores the earlier one; a box goes that shares more than `max_iou` with a better one that stayed.
std::vector<PersonBox> SuppressOverlaps(std::vector<PersonBox> boxes,
                                        const SuppressOptions& options);

}  // namespace scanline
