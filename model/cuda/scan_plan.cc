#include "model/cuda/launch.h"

namespace scanline::cuda {

ScanPlan PlanScan(int inner, int length, int sequences, int multiprocessors, bool cumulative) {
  constexpr int kWarpsWanted = 8;  // a multiprocessor: two for each of its schedulers
  constexpr int kShortestChunk = 128;
  const int64_t wanted = int64_t{kWarpsWanted} * multiprocessors;
  const int64_t warps = int64_t{sequences} * 2 * inner / 32;
  ScanPlan plan;
  while (plan.lanes < 4 && warps * plan.lanes < wanted) plan.lanes *= 2;
  while (!cumulative && plan.chunks < kMostChunks && warps * plan.lanes * plan.chunks < wanted &&
         length / (2 * plan.chunks) >= kShortestChunk) {
    plan.chunks *= 2;
  }
  return plan;
}

size_t ScanWorkspaceBytes(const ScanPlan& plan, int batch, int inner, int state) {
  return size_t{2} * batch * (plan.chunks - 1) * inner * (state + 1) * sizeof(float);
}

}  // namespace scanline::cuda
