#include "model/cuda/project_kernel.h"

namespace scanline::cuda {

int LaunchProject(const Project& op, CUstream_st* stream) {
  if (op.batch < 0 || op.batch > 65535 || op.length < 0 || op.inner < 16 || op.inner % 16 != 0 ||
      op.rank < 1 || op.rank > kMostRank || (op.state != 8 && op.state != 16) ||
      (op.directions != 1 && op.directions != 2) || op.x_stride % 8 != 0) {
    return cudaErrorInvalidValue;
  }
  if (op.batch == 0 || op.length == 0) return cudaSuccess;
  return op.type == Element::kFloat32 ? LaunchProjectOf<float>(op, stream)
                                      : LaunchProjectOf<Bf16>(op, stream);
}

}  // namespace scanline::cuda
