#pragma once

#include <vector>

#include "base/clip.h"
#include "model/config.h"
#include "model/predictor.h"

namespace scanline {

struct ClassScore {
  int row = 0;      // of the head; class_index of the answer = row + label_index_offset
  float score = 0;  // mean over the views of softmax (or sigmoid)
  float logit = 0;  // mean over the views
};

struct Classification {
  std::vector<ClassScore> classes;               // of the clip, best first
  std::vector<std::vector<ClassScore>> windows;  // one a window of the clip, best first
};

// Mean of the per-view scores over all views, and over the views of each window (the official
// evaluation: softmax first, then the mean). Equal scores keep the row order.
Classification Classify(const Clip& clip, const Prediction& prediction, ScoreKind score);

}  // namespace scanline
