#include "bench/engine/gpu_kernels.h"

// Stands in for gpu_kernels.cc where the program is built without CUDA.

namespace scanline::bench {

absl::StatusOr<Chip> ReadChip(int) {
  return absl::UnimplementedError("this program was built without CUDA");
}

absl::StatusOr<std::vector<KernelTime>> MeasureKernels(int, Precision, const BackboneConfig&, int) {
  return absl::UnimplementedError("this program was built without CUDA");
}

}  // namespace scanline::bench
