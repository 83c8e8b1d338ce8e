#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/config.h"
#include "model/cuda/launch.h"
#include "model/cuda/plan.h"
#include "model/patches.h"
#include "model/weights.h"

namespace scanline {

// One view of a batch: pictures, or values that are normalised already.
struct ViewInput {
  std::vector<const uint8_t*> pictures;  // config.frames of them, RGB bytes
  PictureArea area;                      // of the pictures that shows something; 0 x 0: all
  const float* video = nullptr;          // or [3][frames][height][width]
};

// The backbone on one CUDA device. It has never run on a GPU yet, only on a CUDA that is
// played (docs/kernels_cuda.md). Not reentrant.
class CudaBackbone {
 public:
  virtual ~CudaBackbone() = default;

  // Copies the weights to the device; `weights` must outlive the result. FIELD_INVALID for a model
  // that the kernels do not take, INTERNAL without CUDA, DEVICE_MEMORY, DEVICE_LOST. May throw
  // std::bad_alloc.
  static absl::StatusOr<std::unique_ptr<CudaBackbone>> Create(int device, const ModelConfig& config,
                                                              const Weights& weights,
                                                              cuda::Element type);

  // The tokens of each view after the final norm, [views][rows][embed_dim] in OutputOrder; rows is
  // 1 (cls) or, with `all_tokens`, shape.tokens(). `shape`: config.backbone or StillOf it, for the
  // pictures at hand; views are all pictures or all values. A view has the same bits in every
  // batch. A batch that finds no memory is run in smaller parts; DEVICE_MEMORY when one view alone
  // does not fit. After DEVICE_LOST every call gives it.
  virtual absl::Status Run(absl::Span<const ViewInput> views, const BackboneConfig& shape,
                           bool all_tokens, float* normed) = 0;

  virtual std::string name() const = 0;  // "cuda:0 (NVIDIA H200, bf16)"
};

// What this program and machine have of CUDA.
cuda::CudaSystem FindCuda();

}  // namespace scanline
