#include "model/cuda/device.h"

namespace scanline::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsABlock = kThreads / 32;

SCANLINE_DEVICE float SumWarp(float value) {
  SCANLINE_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) value += ShuffleXor(value, mask);
  return value;
}

template <typename T>
SCANLINE_DEVICE void StoreFour(void* out, size_t at, const float (&value)[4]) {
  Vector<T, 4 * sizeof(T)> packed;
  SCANLINE_UNROLL
  for (int i = 0; i < 4; ++i) packed.at[i] = FromFloat<T>(value[i]);
  StoreVector<4 * sizeof(T)>(static_cast<T*>(out) + at, packed);
}

// A warp a row, four neighbouring values at a time, the whole row in registers.
template <int kVectors>
__global__ void __launch_bounds__(kThreads) AddNormKernel(const AddNorm op) {
  const size_t row = static_cast<size_t>(blockIdx.x) * kRowsABlock + threadIdx.x / 32;
  if (row >= static_cast<size_t>(op.batch) * op.rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x % 32);
  const size_t sequence = row / op.rows;
  const int in_sequence = static_cast<int>(row % op.rows);
  const int source = op.from != nullptr ? op.from[in_sequence] : in_sequence;
  const size_t in = (sequence * op.length + source) * op.dim;
  const size_t out = row * op.dim;

  float v[kVectors][4];
  float sum = 0.0F;
  SCANLINE_UNROLL
  for (int k = 0; k < kVectors; ++k) {
    const int column = (k * 32 + lane) * 4;
    const bool inside = column < op.dim;
    Vector<float, 16> value = {};
    if (inside) value = LoadVector<16>(op.residual + in + column);
    if (inside && op.x != nullptr) {
      const auto more = LoadVector<16>(op.x + in + column);
      SCANLINE_UNROLL
      for (int i = 0; i < 4; ++i) value.at[i] += more.at[i];
    }
    if (inside && op.residual_out != nullptr)
      StoreVector<16>(op.residual_out + out + column, value);
    SCANLINE_UNROLL
    for (int i = 0; i < 4; ++i) {
      v[k][i] = value.at[i];
      sum += value.at[i];
    }
  }
  const float mean = op.layer_norm ? SumWarp(sum) / static_cast<float>(op.dim) : 0.0F;
  float squares = 0.0F;
  SCANLINE_UNROLL
  for (int k = 0; k < kVectors; ++k) {
    SCANLINE_UNROLL
    for (int i = 0; i < 4; ++i) {
      v[k][i] = (k * 32 + lane) * 4 < op.dim ? v[k][i] - mean : 0.0F;
      squares = Fma(v[k][i], v[k][i], squares);
    }
  }
  const float scale = ReciprocalRoot(SumWarp(squares) / static_cast<float>(op.dim) + op.eps);
  SCANLINE_UNROLL
  for (int k = 0; k < kVectors; ++k) {
    const int column = (k * 32 + lane) * 4;
    if (column >= op.dim) break;
    Vector<float, 16> weight = {1.0F, 1.0F, 1.0F, 1.0F};
    Vector<float, 16> bias = {};
    if (op.weight != nullptr) weight = LoadVector<16>(op.weight + column);
    if (op.bias != nullptr) bias = LoadVector<16>(op.bias + column);
    float normed[4];
    SCANLINE_UNROLL
    for (int i = 0; i < 4; ++i) normed[i] = Fma(v[k][i] * scale, weight.at[i], bias.at[i]);
    if (op.out_type == Element::kFloat32) {
      StoreFour<float>(op.out, out + column, normed);
    } else {
      StoreFour<Bf16>(op.out, out + column, normed);
    }
  }
}

}  // namespace

int LaunchAddNorm(const AddNorm& op, CUstream_st* stream) {
  const bool in_place = op.residual_out == op.residual;
  if (op.batch < 0 || op.rows < 1 || op.rows > op.length || op.dim < 4 || op.dim % 4 != 0 ||
      op.dim > kMaxNormDim || (in_place && (op.from != nullptr || op.rows != op.length))) {
    return cudaErrorInvalidValue;
  }
  if (op.batch == 0) return cudaSuccess;
  const int64_t rows = int64_t{op.batch} * op.rows;
  const auto blocks = static_cast<unsigned>((rows + kRowsABlock - 1) / kRowsABlock);
  return Launch(op.dim <= 384 ? AddNormKernel<3> : AddNormKernel<8>, {blocks, 1, 1}, kThreads, op,
                stream);
}

}  // namespace scanline::cuda
