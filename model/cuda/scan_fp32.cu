#include "model/cuda/scan_kernel.h"

namespace scanline::cuda {

template <>
int LaunchScanOf<float>(const Scan& op, CUstream_st* stream) {
  return op.state == 8 ? LaunchScanLanes<float, 8>(op, stream)
                       : LaunchScanLanes<float, 16>(op, stream);
}

}  // namespace scanline::cuda
