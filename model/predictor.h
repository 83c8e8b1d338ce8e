#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "model/bundle.h"

namespace scanline {

struct PredictorOptions {
  int threads = 1;              // of one forward pass
  std::string kernel = "auto";  // "auto", or a name of KernelNames()
};

// Whether a kernel of this name, or "auto", runs on this CPU. FIELD_INVALID with the names if not.
absl::Status CheckKernel(const std::string& name);

// One clip of a batch. Both are borrowed for the call.
struct PredictItem {
  const Clip* clip = nullptr;
  const Cancel* cancel = nullptr;
};

struct Prediction {
  std::vector<std::vector<float>> logits;  // [views][classes], in the order of Clip::views
  int64_t tokens = 0;                      // of all views, cls not counted
};

// Runs the backbone and the heads of one bundle. One predictor a worker thread: Predict is not
// reentrant. Torch's and the allocator's exceptions end here.
class Predictor {
 public:
  static absl::StatusOr<std::unique_ptr<Predictor>> Create(
      std::shared_ptr<const ModelBundle> bundle, const PredictorOptions& options);
  virtual ~Predictor() = default;

  // One result an item, in order. An item's result has the same bits whatever else is in the batch.
  // Errors of an item: CANCELLED, EXPIRED_IN_INFERENCE (looked at before each view), DEVICE_MEMORY,
  // NON_FINITE_OUTPUT.
  virtual std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) = 0;

  virtual const ModelBundle& bundle() const = 0;
  virtual std::string kernel() const = 0;  // the kernel in use, e.g. "avx2"
};

}  // namespace scanline
