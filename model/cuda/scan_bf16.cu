#include "model/cuda/scan_kernel.h"

namespace scanline::cuda {

template <>
int LaunchScanOf<Bf16>(const Scan& op, CUstream_st* stream) {
  return op.state == 8 ? LaunchScanLanes<Bf16, 8>(op, stream)
                       : LaunchScanLanes<Bf16, 16>(op, stream);
}

}  // namespace scanline::cuda
