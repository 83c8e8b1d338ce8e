#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/config.h"
#include "model/cuda/cublas_lt.h"
#include "model/cuda/gemm.h"
#include "model/cuda/launch.h"
#include "model/cuda/memory.h"
#include "model/cuda/pack.h"
#include "model/weights.h"

namespace scanline::cuda {

// What all passes on a device share.
struct PassSetting {
  const CublasLt* lt = nullptr;
  cublasLtHandle_t handle = nullptr;
  Element type = Element::kBfloat16;
  int multiprocessors = 0;
  const PackedBackbone* packed = nullptr;  // where the weights are, from `weights` on
  const uint8_t* weights = nullptr;        // on the device
};

// Views that scan plans and matrix products are tuned for. It is part of the bits of an answer, so
// it is one number, not what happens to be in a batch.
inline constexpr int kTunedViews = 8;

// Launches of a backbone for pictures of one shape. Buffers are those of PlacePass in `arena`;
// everything is enqueued on `stream`, nothing waits.
class Pass {
 public:
  static absl::StatusOr<std::unique_ptr<Pass>> Make(const PassSetting& setting,
                                                    const BackboneConfig& config,
                                                    const Tensor& pos_embed);

  const BackboneConfig& config() const { return config_; }
  PassAt Place(int bucket) const;

  // Pictures, and the areas of them or null, to the rows of the patch product.
  absl::Status Gather(const uint8_t* pictures, const int* areas, int bucket, uint8_t* arena,
                      cudaStream_t stream) const;
  // From the rows of the patch product, made of pictures or of values, to the residual stream after
  // the last layer. The same launches every time, so it can be captured in a graph.
  absl::Status RunLayers(bool values, int bucket, uint8_t* arena, cudaStream_t stream) const;
  // `out`: fp32 [bucket][rows][embed_dim]; rows 1 or all.
  absl::Status FinalNorm(int rows, int bucket, uint8_t* arena, float* out,
                         cudaStream_t stream) const;

  // Of RunLayers, by bucket and kind of input; a null one was run once and may be captured now.
  std::map<std::pair<int, bool>, GraphExecPtr>& graphs() { return graphs_; }

 private:
  // Where the residual stream stands, and its order.
  struct Stream {
    size_t at;
    size_t spare;
    ScanOrder order;
  };

  Pass(const PassSetting& setting, const BackboneConfig& config)
      : setting_(setting), config_(config) {}
  absl::Status MakePositions(const Tensor& pos_embed);
  absl::Status MakeOrders();
  absl::Status MakeProducts();
  template <typename T>
  const T* Weight(size_t at) const;
  const int* Move(ScanOrder to, Stream* stream) const;
  Stream StreamAfterLayers(const PassAt& at) const;
  absl::Status Embed(bool values, const PassAt& at, int bucket, uint8_t* arena,
                     cudaStream_t stream) const;
  absl::Status RunLayer(const LayerAt& layer, const PassAt& at, ScanOrder order, int bucket,
                        uint8_t* arena, cudaStream_t stream, Stream* residual) const;
  absl::Status Mix(const LayerAt& layer, const PassAt& at, int bucket, uint8_t* arena,
                   cudaStream_t stream) const;

  PassSetting setting_;
  BackboneConfig config_;
  ScanPlan scan_;
  std::unique_ptr<Gemm> patch_embed_;
  std::unique_ptr<Gemm> in_proj_;
  std::unique_ptr<Gemm> out_proj_;
  DeviceMemory positions_;    // fp32 [1 + cells][embed_dim]
  DeviceMemory to_temporal_;  // int [tokens]: rows in spatial order; for kAlternating
  DeviceMemory to_spatial_;
  std::map<std::pair<int, bool>, GraphExecPtr> graphs_;
};

}  // namespace scanline::cuda
