#include "model/cuda/device.h"

namespace scanline::cuda {
namespace {

constexpr int kThreads = 256;

// A thread a value: the bytes of a patch row stay in the cache for all three channels.
template <typename T>
__global__ void __launch_bounds__(kThreads) GatherPatchesKernel(const GatherPatches op) {
  const int across = op.width / op.patch;
  const int cells = op.height / op.patch * across;
  const int picture = op.patch * op.patch;
  const int length = 3 * op.tubelet * picture;
  const int row = static_cast<int>(blockIdx.x);  // of a sequence
  const int sequence = static_cast<int>(blockIdx.y);
  const int top = row % cells / across * op.patch;
  const int left = row % cells % across * op.patch;
  const int first_frame = row / cells * op.tubelet;
  const int shown_width = op.areas != nullptr ? op.areas[2 * sequence] : op.width;
  const int shown_height = op.areas != nullptr ? op.areas[2 * sequence + 1] : op.height;
  T* out = static_cast<T*>(op.rows) + (size_t{gridDim.x} * sequence + row) * length;
  for (int at = static_cast<int>(threadIdx.x); at < length; at += kThreads) {
    const int channel = at / (op.tubelet * picture);
    const int frame = first_frame + at / picture % op.tubelet;
    const int y = top + at % picture / op.patch;
    const int x = left + at % op.patch;
    const float centre = channel == 0 ? op.centre[0] : channel == 1 ? op.centre[1] : op.centre[2];
    const float padding = channel == 0   ? op.padding[0]
                          : channel == 1 ? op.padding[1]
                                         : op.padding[2];
    float value = padding;
    if (x < shown_width && y < shown_height) {
      const size_t pixel =
          ((static_cast<size_t>(sequence) * op.frames + frame) * op.height + y) * op.width + x;
      value = static_cast<float>(op.pictures[3 * pixel + channel]) - centre;
    }
    out[at] = FromFloat<T>(value);
  }
}

// A block a row of the residual.
__global__ void __launch_bounds__(kThreads) EmbedKernel(const Embed op) {
  const int row = static_cast<int>(blockIdx.x);
  const size_t sequence = blockIdx.y;
  const int patches = op.steps * op.cells;
  const int order = op.temporal_first ? op.steps : op.cells;
  const int major = (row - 1) / order;
  const int minor = (row - 1) % order;
  const int step = op.temporal_first ? minor : major;
  const int cell = op.temporal_first ? major : minor;
  float* out = op.residual + (sequence * (1 + patches) + row) * op.dim;
  for (int i = static_cast<int>(threadIdx.x); i < op.dim; i += kThreads) {
    if (row == 0) {
      out[i] = op.cls[i] + op.space[i];
      continue;
    }
    const size_t from = (sequence * patches + step * op.cells + cell) * op.dim + i;
    float value = op.patches[from] + op.bias[i];
    value += op.space[static_cast<size_t>(1 + cell) * op.dim + i];
    if (op.time != nullptr) value += op.time[static_cast<size_t>(step) * op.dim + i];
    out[i] = value;
  }
}

}  // namespace

int LaunchGatherPatches(const GatherPatches& op, CUstream_st* stream) {
  if (op.batch < 0 || op.batch > 65535 || op.patch < 1 || op.tubelet < 1 || op.frames < 1 ||
      op.frames % op.tubelet != 0 || op.height < op.patch || op.width < op.patch ||
      op.height % op.patch != 0 || op.width % op.patch != 0) {
    return cudaErrorInvalidValue;
  }
  if (op.batch == 0) return cudaSuccess;
  const int cells = op.height / op.patch * (op.width / op.patch);
  const auto rows = static_cast<unsigned>(op.frames / op.tubelet * cells);
  return Launch(
      op.type == Element::kFloat32 ? GatherPatchesKernel<float> : GatherPatchesKernel<Bf16>,
      {rows, static_cast<unsigned>(op.batch), 1}, kThreads, op, stream);
}

int LaunchEmbed(const Embed& op, CUstream_st* stream) {
  if (op.batch < 0 || op.batch > 65535 || op.steps < 1 || op.cells < 1 || op.dim < 1) {
    return cudaErrorInvalidValue;
  }
  if (op.batch == 0) return cudaSuccess;
  const auto rows = static_cast<unsigned>(1 + op.steps * op.cells);
  return Launch(EmbedKernel, {rows, static_cast<unsigned>(op.batch), 1}, kThreads, op, stream);
}

}  // namespace scanline::cuda
