#include "model/cuda/scan_kernel.h"

namespace scanline::cuda {

template <>
int LaunchScanOf<float>(const Scan& op, CUstream_st* stream);
template <>
int LaunchScanOf<Bf16>(const Scan& op, CUstream_st* stream);

int LaunchScan(const Scan& op, CUstream_st* stream) {
  const ScanPlan& plan = op.plan;
  const bool sizes = op.batch >= 0 && op.length >= 0 && op.inner >= 16 && op.inner % 16 == 0 &&
                     (op.state == 8 || op.state == 16) && op.u_stride % 8 == 0;
  const bool lanes = plan.lanes == 1 || plan.lanes == 2 || plan.lanes == 4;
  const bool chunks = plan.chunks >= 1 && plan.chunks <= kMostChunks &&
                      (plan.chunks == 1 || (!op.cumulative && op.workspace != nullptr)) &&
                      int64_t{op.batch} * plan.chunks <= 65535;  // of a grid's y
  if (!sizes || !lanes || !chunks) return cudaErrorInvalidValue;
  if (op.batch == 0 || op.length == 0) return cudaSuccess;
  return op.type == Element::kFloat32 ? LaunchScanOf<float>(op, stream)
                                      : LaunchScanOf<Bf16>(op, stream);
}

}  // namespace scanline::cuda
