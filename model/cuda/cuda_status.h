#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "model/cuda/plan.h"

namespace scanline::cuda {

// A Status of what a CUDA call returned. The runtime keeps an error that is not sticky until it is
// asked; it is asked here, so that the next call does not report it again.
inline absl::Status CudaStatus(int code, const char* doing) {
  if (code == cudaSuccess) return absl::OkStatus();
  const auto error = static_cast<cudaError_t>(code);
  static_cast<void>(cudaGetLastError());
  return MakeError(ReasonOfCudaError(code),
                   absl::StrCat("the GPU failed at ", doing, ": ", cudaGetErrorName(error), ", ",
                                cudaGetErrorString(error)));
}

}  // namespace scanline::cuda
