#pragma once

#include <vector>

#include "base/box.h"
#include "model/config.h"
#include "model/detect/roi_align.h"
#include "model/patches.h"
#include "model/weights.h"

namespace scanline {

// A box, in pixels of the model's pictures, made larger by `enlarge` of its sides, half on each
// side, then cut at the border of the area that shows something. Where `inclusive` says so pixels
// have numbers (DetectConfig). Official code: BoxList.extend of MCG-NJU/VideoMAE-Action-Detection.
Box EnlargeBox(const Box& box, const DetectConfig& config, PictureArea area);

// Patch tokens to features of the picture, [rows][columns][width]: the mean over the steps, and for
// kAvgDelta behind it the mean of the later half of the steps minus that of the earlier half (the
// middle one of an odd number in neither). `normed`: as Backbone::Run gives it, cls first.
void FeaturesOverTime(const float* normed, const BackboneConfig& backbone,
                      DetectConfig::Feature feature, float* out);

// 1 / (1 + exp(-logit)) of each, or their softmax; times the score of the person.
std::vector<float> ActionScores(const std::vector<float>& logits, ScoreKind kind,
                                float person_score);

// Boxes in a view to logits of what happens in them: `box_head.*`. Keeps pointers into the weights.
// Not reentrant; may throw what tensor_ops.h throws.
class BoxHead {
 public:
  BoxHead(const DetectConfig& config, int embed_dim, const Weights& weights);

  // The view that the boxes of the following calls are in. `backbone` is that of the pass.
  void See(const float* normed, const BackboneConfig& backbone);

  // [labels]. `box` is finite and overlaps the area. A box has the same bits alone or among others.
  std::vector<float> Logits(const Box& box, PictureArea area);

  int feature_width() const { return width_; }

 private:
  DetectConfig config_;
  int width_;  // of a feature
  int classes_;
  const float* weight_;
  const float* bias_;
  int patch_ = 1;
  FeatureMap map_;
  AlignedFloats features_;
  size_t features_size_ = 0;
  AlignedFloats roi_;     // [roi_size][roi_size][width_]
  AlignedFloats pooled_;  // [width_]
  AlignedFloats logits_;  // [labels]
};

}  // namespace scanline
