#include "model/tensor_ops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "base/team.h"

namespace scanline {
namespace {

at::Tensor View(const float* data, at::IntArrayRef sizes, at::IntArrayRef strides) {
  // from_blob has no const form; inputs are only read.
  return at::from_blob(const_cast<float*>(data), sizes, strides, at::kFloat);
}

}  // namespace

void RunGemm(const Gemm& gemm) {
  const c10::InferenceMode inference;
  const at::Tensor x = View(gemm.x, {gemm.rows, gemm.inner}, {gemm.x_stride, 1});
  const at::Tensor weight_t = View(gemm.weight, {gemm.inner, gemm.columns}, {1, gemm.inner});
  at::Tensor out = View(gemm.out, {gemm.rows, gemm.columns}, {gemm.columns, 1});
  if (gemm.bias != nullptr) {
    at::addmm_out(out, View(gemm.bias, {gemm.columns}, {1}), x, weight_t);
  } else {
    at::mm_out(out, x, weight_t);
  }
}

void UseThreads(int threads) {
  // Torch keeps the number for each thread, and setting it is not free.
  static thread_local int current = 0;
  if (current == threads) return;
  at::set_num_threads(threads);
  current = threads;
}

namespace {
thread_local Team* current_team = nullptr;
}  // namespace

void UseTeam(Team* team) { current_team = team; }

void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  const int64_t grains = (count + grain - 1) / grain;
  if (current_team == nullptr || current_team->size() == 1 || grains < 2) return body(0, count);
  const int size = current_team->size();
  current_team->Run([&](int rank) {
    const int64_t begin = grains * rank / size * grain;
    const int64_t end = std::min(grains * (rank + 1) / size * grain, count);
    if (begin < end) body(begin, end);
  });
}

}  // namespace scanline
