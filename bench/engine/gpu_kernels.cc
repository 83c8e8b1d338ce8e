#include "bench/engine/gpu_kernels.h"

#include <cuda_runtime_api.h>

#include <functional>

#include "base/status_macros.h"
#include "model/cuda/cuda_status.h"
#include "model/cuda/launch.h"
#include "model/cuda/memory.h"
#include "model/cuda/pass.h"

namespace scanline::bench {
namespace {

// Buffers of [rows][inner]; the same memory may serve several, since values do not matter.
enum Buffer { kX, kZ, kC0, kC1, kDt0, kDt1, kY0, kY1, kBuffers };
constexpr size_t kMostBytesOfWeights = 1024;  // for each channel of inner, of any kernel

class BlockKernels {
 public:
  BlockKernels(int device, cuda::Element type, const BackboneConfig& config, int batch)
      : device_(device), type_(type), config_(config), batch_(batch) {}

  absl::StatusOr<std::vector<KernelTime>> Measure() {
    SCANLINE_RETURN_IF_ERROR(Reserve());
    const double rows = static_cast<double>(batch_) * config_.tokens();
    const double values = rows * config_.d_inner();
    const double bytes = values * static_cast<double>(cuda::SizeOf(type_));
    const double bc = 2 * rows * 2 * config_.d_state * sizeof(float);  // of both directions
    // SiLU is one tanh in bf16, an exponential and a division in fp32 (model/cuda/device.h).
    const double silu = type_ == cuda::Element::kFloat32 ? 2 : 1;
    std::vector<KernelTime> kernels = {
        {.kernel = "scan", .bytes = 6 * bytes + bc, .functions = 2 * values * config_.d_state},
        {.kernel = "gate", .bytes = 4 * bytes, .functions = silu * values},
        {.kernel = "project", .bytes = 5 * bytes + bc, .functions = 2 * (silu + 1) * values},
        {.kernel = "add_norm",
         .bytes = rows * config_.embed_dim * static_cast<double>(4 + cuda::SizeOf(type_)),
         .functions = rows}};
    const std::function<int()> launches[] = {
        [op = Scan(), this] { return LaunchScan(op, stream_.get()); },
        [op = Gate(), this] { return LaunchGate(op, stream_.get()); },
        [op = Project(), this] { return LaunchProject(op, stream_.get()); },
        [op = Norm(), this] { return LaunchAddNorm(op, stream_.get()); }};
    for (size_t i = 0; i < kernels.size(); ++i) {
      SCANLINE_ASSIGN_OR_RETURN(kernels[i].us, Time(kernels[i].kernel.c_str(), launches[i]));
    }
    return kernels;
  }

 private:
  absl::Status Reserve() {
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaSetDevice(device_), "choosing the device"));
    int multiprocessors = 0;
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device_),
        "reading its properties"));
    plan_ = cuda::PlanScan(config_.d_inner(), config_.tokens(), cuda::kTunedViews, multiprocessors,
                           /*cumulative=*/false);
    SCANLINE_RETURN_IF_ERROR(cuda::MakeStream(&stream_));
    SCANLINE_RETURN_IF_ERROR(buffers_.Reserve(kBuffers * BufferBytes()));
    SCANLINE_RETURN_IF_ERROR(bc_.Reserve(2 * BcFloats() * sizeof(float)));
    SCANLINE_RETURN_IF_ERROR(weights_.Reserve(kMostBytesOfWeights * config_.d_inner()));
    return workspace_.Reserve(
        cuda::ScanWorkspaceBytes(plan_, batch_, config_.d_inner(), config_.d_state));
  }

  // Microseconds of a launch.
  absl::StatusOr<double> Time(const char* name, const std::function<int()>& launch) const {
    constexpr int kWarmups = 3;
    constexpr int kRuns = 20;
    cuda::EventPtr begin;
    cuda::EventPtr end;
    SCANLINE_RETURN_IF_ERROR(MakeTimer(&begin));
    SCANLINE_RETURN_IF_ERROR(MakeTimer(&end));
    for (int run = -kWarmups; run < kRuns; ++run) {
      if (run == 0) {
        SCANLINE_RETURN_IF_ERROR(
            cuda::CudaStatus(cudaEventRecord(begin.get(), stream_.get()), "an event"));
      }
      SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(launch(), name));
    }
    SCANLINE_RETURN_IF_ERROR(
        cuda::CudaStatus(cudaEventRecord(end.get(), stream_.get()), "an event"));
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaEventSynchronize(end.get()), name));
    float ms = 0;
    SCANLINE_RETURN_IF_ERROR(
        cuda::CudaStatus(cudaEventElapsedTime(&ms, begin.get(), end.get()), "an event"));
    return 1e3 * ms / kRuns;
  }

  // The engine's own events (memory.h) keep no time.
  static absl::Status MakeTimer(cuda::EventPtr* event) {
    cudaEvent_t made = nullptr;
    SCANLINE_RETURN_IF_ERROR(cuda::CudaStatus(cudaEventCreate(&made), "an event"));
    event->reset(made);
    return absl::OkStatus();
  }

  static size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }
  size_t Rows() const { return static_cast<size_t>(batch_) * config_.tokens(); }
  size_t BufferBytes() const { return Aligned(Rows() * config_.d_inner() * cuda::SizeOf(type_)); }
  size_t BcFloats() const { return Rows() * 2 * config_.d_state; }
  uint8_t* At(int buffer) const { return buffers_.get() + buffer * BufferBytes(); }
  float* Bc(int i) const { return reinterpret_cast<float*>(bc_.get()) + i * BcFloats(); }
  const float* Floats() const { return reinterpret_cast<const float*>(weights_.get()); }

  cuda::Scan Scan() const {
    const auto direction = [&](int i) {
      return cuda::ScanDirection{.u = At(kC0 + i),
                                 .dt = At(kDt0 + i),
                                 .bc = Bc(i),
                                 .a = Floats(),
                                 .d = Floats(),
                                 .y = At(kY0 + i)};
    };
    return {.type = type_,
            .batch = batch_,
            .length = config_.tokens(),
            .inner = config_.d_inner(),
            .state = config_.d_state,
            .u_stride = config_.d_inner(),
            .plan = plan_,
            .forward = direction(0),
            .backward = direction(1),
            .workspace = reinterpret_cast<float*>(workspace_.get())};
  }

  cuda::Gate Gate() const {
    return {.type = type_,
            .rows = static_cast<int>(Rows()),
            .inner = config_.d_inner(),
            .forward = At(kY0),
            .backward = At(kY1),
            .z = At(kX) + config_.d_inner() * cuda::SizeOf(type_),
            .z_stride = ptrdiff_t{2} * config_.d_inner(),
            .out = At(kY0)};
  }

  cuda::Project Project() const {
    const auto direction = [&](int i) {
      return cuda::ProjectDirection{.conv_weight = Floats(),
                                    .conv_bias = Floats(),
                                    .x_proj = weights_.get(),
                                    .dt_proj = weights_.get(),
                                    .dt_bias = Floats(),
                                    .c = At(kC0 + i),
                                    .dt = At(kDt0 + i),
                                    .bc = Bc(i)};
    };
    return {.type = type_,
            .batch = batch_,
            .length = config_.tokens(),
            .inner = config_.d_inner(),
            .rank = config_.dt_rank,
            .state = config_.d_state,
            .x = At(kX),
            .x_stride = ptrdiff_t{2} * config_.d_inner(),
            .forward = direction(0),
            .backward = direction(1)};
  }

  // The residual is fp32, half as wide as inner: it fits into two buffers.
  cuda::AddNorm Norm() const {
    return {.out_type = type_,
            .batch = batch_,
            .length = config_.tokens(),
            .rows = config_.tokens(),
            .dim = config_.embed_dim,
            .residual = reinterpret_cast<const float*>(At(kX)),
            .weight = Floats(),
            .out = At(kC0)};
  }

  int device_;
  cuda::Element type_;
  BackboneConfig config_;
  int batch_;
  cuda::ScanPlan plan_;
  cuda::StreamPtr stream_;
  cuda::DeviceMemory buffers_;
  cuda::DeviceMemory bc_;
  cuda::DeviceMemory weights_;
  cuda::DeviceMemory workspace_;
};

}  // namespace

absl::StatusOr<Chip> ReadChip(int device) {
  cudaDeviceProp properties{};
  SCANLINE_RETURN_IF_ERROR(
      cuda::CudaStatus(cudaGetDeviceProperties(&properties, device), "reading its properties"));
  const auto read = [&](cudaDeviceAttr what) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, what, device) != cudaSuccess) return 0.0;
    return static_cast<double>(value);
  };
  constexpr double kHertz = 1e3;  // in the attributes' unit
  // Both edges of the memory's clock carry data.
  return Chip{.name = properties.name,
              .multiprocessors = properties.multiProcessorCount,
              .clock_hz = kHertz * read(cudaDevAttrClockRate),
              .bytes_per_s = 2 * kHertz * read(cudaDevAttrMemoryClockRate) *
                             read(cudaDevAttrGlobalMemoryBusWidth) / 8};
}

absl::StatusOr<std::vector<KernelTime>> MeasureKernels(int device, Precision precision,
                                                       const BackboneConfig& config, int batch) {
  const auto type =
      precision == Precision::kFp32 ? cuda::Element::kFloat32 : cuda::Element::kBfloat16;
  return BlockKernels(device, type, config, batch).Measure();
}

}  // namespace scanline::bench
