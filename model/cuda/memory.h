#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "model/cuda/cuda_status.h"

// Owners of what the CUDA runtime hands out. Their destructors ignore errors: there is nobody to
// tell, and a device that is lost fails every call.

namespace scanline::cuda {

struct FreeDevice {
  void operator()(uint8_t* memory) const { cudaFree(memory); }
};
struct FreePinned {
  void operator()(uint8_t* memory) const { cudaFreeHost(memory); }
};
struct FreeStream {
  void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
};
struct FreeEvent {
  void operator()(CUevent_st* event) const { cudaEventDestroy(event); }
};
struct FreeGraph {
  void operator()(CUgraph_st* graph) const { cudaGraphDestroy(graph); }
};
struct FreeGraphExec {
  void operator()(CUgraphExec_st* graph) const { cudaGraphExecDestroy(graph); }
};
using StreamPtr = std::unique_ptr<CUstream_st, FreeStream>;
using EventPtr = std::unique_ptr<CUevent_st, FreeEvent>;
using GraphPtr = std::unique_ptr<CUgraph_st, FreeGraph>;
using GraphExecPtr = std::unique_ptr<CUgraphExec_st, FreeGraphExec>;

// Memory that is made anew, larger, when too small; the old goes first, since both together may be
// too much. Content is zero when new.
class DeviceMemory {
 public:
  absl::Status Reserve(size_t bytes) {
    if (bytes <= bytes_) return absl::OkStatus();
    Free();
    void* made = nullptr;
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&made, bytes), "cudaMalloc"));
    memory_.reset(static_cast<uint8_t*>(made));
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaMemset(made, 0, bytes), "cudaMemset"));
    // The engine's streams do not wait for the legacy one.
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(nullptr), "cudaMemset"));
    bytes_ = bytes;
    return absl::OkStatus();
  }
  // What uses it must be over.
  void Free() {
    memory_.reset();
    bytes_ = 0;
  }
  std::unique_ptr<uint8_t, FreeDevice> Take() {
    bytes_ = 0;
    return std::move(memory_);
  }
  uint8_t* get() const { return memory_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<uint8_t, FreeDevice> memory_;
  size_t bytes_ = 0;
};

// The same of the host, page-locked, which the GPU copies from and to by itself.
class PinnedMemory {
 public:
  absl::Status Reserve(size_t bytes) {
    if (bytes <= bytes_) return absl::OkStatus();
    Free();
    void* made = nullptr;
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaMallocHost(&made, bytes), "cudaMallocHost"));
    memory_.reset(static_cast<uint8_t*>(made));
    std::memset(made, 0, bytes);
    bytes_ = bytes;
    return absl::OkStatus();
  }
  void Free() {
    memory_.reset();
    bytes_ = 0;
  }
  uint8_t* get() const { return memory_.get(); }

 private:
  std::unique_ptr<uint8_t, FreePinned> memory_;
  size_t bytes_ = 0;
};

inline absl::Status MakeStream(StreamPtr* stream) {
  cudaStream_t made = nullptr;
  SCANLINE_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream"));
  stream->reset(made);
  return absl::OkStatus();
}

// A host thread that waits for it sleeps: cores are for decoding.
inline absl::Status MakeEvent(EventPtr* event) {
  cudaEvent_t made = nullptr;
  SCANLINE_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&made, cudaEventDisableTiming | cudaEventBlockingSync),
                 "making an event"));
  event->reset(made);
  return absl::OkStatus();
}

}  // namespace scanline::cuda
