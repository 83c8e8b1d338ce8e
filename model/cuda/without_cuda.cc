#include "base/error.h"
#include "model/cuda/cuda_backbone.h"

// Stands in for cuda_backbone.cc where the program is built without CUDA.

namespace scanline {

cuda::CudaSystem FindCuda() { return {}; }

absl::StatusOr<std::unique_ptr<CudaBackbone>> CudaBackbone::Create(int, const ModelConfig&,
                                                                   const Weights&, cuda::Element) {
  return MakeError(Reason::kInternal, "this program was built without CUDA");
}

}  // namespace scanline
