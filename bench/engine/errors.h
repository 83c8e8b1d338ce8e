#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/config.h"
#include "model/weights.h"

// How far the class logits of the engine are from computation in double.

namespace scanline::bench {

struct Error {
  std::string model;   // a file of reference vectors, without its ending
  double rel_l2 = 0;   // |got - want| / |want|
  double rel_max = 0;  // max |got - want| / max |want|
  double cosine = 0;
  bool same_top1 = false;
};

// What is measured: the class logits of a model for one clip, values [3][frames][size][size] that
// are normalised already.
using ForwardOf = std::function<absl::StatusOr<std::vector<float>>(
    const ModelConfig& model, const Weights& weights, const float* video)>;

// Of every stored model: real_* against the file's own logits_fp64, model_* against the double
// reference of tests/model/. Throws where there are no vectors (SCANLINE_REFERENCE_DIR).
absl::StatusOr<std::vector<Error>> MeasureErrors(const ForwardOf& forward);

}  // namespace scanline::bench
