#pragma once

#include <string>
#include <vector>

#include "model/backbone.h"
#include "model/kernels/kernels.h"

// How far the class logits of the engine are from computation in double.

namespace scanline::bench {

struct Error {
  std::string model;   // a file of reference vectors, without its ending
  double rel_l2 = 0;   // |got - want| / |want|
  double rel_max = 0;  // max |got - want| / max |want|
  double cosine = 0;
  bool same_top1 = false;
};

// Of every stored model: real_* against the file's own logits_fp64, model_* against the double
// reference of tests/model/. Throws where there are no vectors (SCANLINE_REFERENCE_DIR).
std::vector<Error> MeasureErrors(const Kernels& kernels, Precision precision);

}  // namespace scanline::bench
