#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "bench/engine/errors.h"
#include "bench/engine/passes.h"
#include "bench/engine/timing.h"

// Forward passes of one model on a CUDA device, from pictures in host memory to class logits there:
// the head is the CPU's, as in the server. In a program without CUDA all of it is an error.

namespace scanline::bench {

struct GpuPlan {
  int device = 0;
  Precision precision = Precision::kBf16;  // of products and activations
  int runs = 5;                            // timed passes of each batch
};

struct BatchSpeed {
  int batch = 0;
  Timing timing;
  bool same_bits = false;  // the first, middle and last clip have the tokens that they have alone
};

struct GpuPasses {
  std::vector<float> logits;  // of Subject::pictures
  std::vector<BatchSpeed> speed;
};

absl::StatusOr<GpuPasses> MeasureBatches(const Subject& subject, const GpuPlan& plan,
                                         const std::vector<int>& batches);

// For MeasureErrors: an engine for each model.
ForwardOf GpuForward(const GpuPlan& plan);

}  // namespace scanline::bench
