#pragma once

#include <cstdint>
#include <functional>

// The only door to Torch: tensor_ops.cc alone includes it. Everything here may throw what Torch
// throws (std::exception) or std::bad_alloc; Predictor turns both into a Status.

namespace scanline {

class Team;  // base/team.h

// out = x w^T + bias. The same inputs at the same addresses give the same bits.
struct Gemm {
  const float* x = nullptr;  // [rows][inner], x_stride floats from row to row
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t x_stride = 0;
  const float* weight = nullptr;  // [columns][inner], contiguous
  int64_t columns = 0;
  const float* bias = nullptr;  // [columns], or none
  float* out = nullptr;         // [rows][columns], contiguous; not x
};

void RunGemm(const Gemm& gemm);

// Threads that Torch uses when called from this thread.
void UseThreads(int threads);

// The team that ParallelFor uses when called from this thread; null: none. It must outlive its use.
void UseTeam(Team* team);

// body(begin, end) over pieces of [0, count); every piece but the last is a multiple of `grain`.
void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace scanline
