#include "model/cuda/device.h"

namespace scanline::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads) GateKernel(const Gate op) {
  constexpr int kSize = Vector<T, 16>::kSize;
  const int vectors = op.inner / kSize;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= int64_t{op.rows} * vectors) return;
  const int64_t row = i / vectors;
  const int column = static_cast<int>(i % vectors) * kSize;
  const int64_t at = row * op.inner + column;
  const auto forward = LoadVector<16>(static_cast<const T*>(op.forward) + at);
  const auto backward = LoadVector<16>(static_cast<const T*>(op.backward) + at);
  Vector<T, 16> z = {};
  if (op.z != nullptr) z = LoadVector<16>(static_cast<const T*>(op.z) + row * op.z_stride + column);
  Vector<T, 16> out;
  SCANLINE_UNROLL
  for (int k = 0; k < kSize; ++k) {
    const float sum = ToFloat(forward.at[k]) + ToFloat(backward.at[k]);
    out.at[k] = FromFloat<T>(op.z != nullptr ? sum * Silu<T>(ToFloat(z.at[k])) : sum);
  }
  StoreVector<16>(static_cast<T*>(op.out) + at, out);
}

}  // namespace

int LaunchGate(const Gate& op, CUstream_st* stream) {
  if (op.rows < 0 || op.inner < 16 || op.inner % 16 != 0 ||
      (op.z != nullptr && op.z_stride % 8 != 0)) {
    return cudaErrorInvalidValue;
  }
  if (op.rows == 0) return cudaSuccess;
  const bool single = op.type == Element::kFloat32;
  const int64_t vectors = int64_t{op.rows} * op.inner / (single ? 4 : 8);
  const auto blocks = static_cast<unsigned>((vectors + kThreads - 1) / kThreads);
  return Launch(single ? GateKernel<float> : GateKernel<Bf16>, {blocks, 1, 1}, kThreads, op,
                stream);
}

}  // namespace scanline::cuda
