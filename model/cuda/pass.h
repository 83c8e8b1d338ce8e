#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/config.h"
#include "model/cuda/launch.h"
#include "model/cuda/pack.h"
#include "model/weights.h"

// The launches of a forward pass, in their order. Free of CUDA: the tests run it on the CPU, with
// the kernels under the SIMT shim.

namespace scanline::cuda {

// out = x weight^T of each sequence: x [rows][inner], weight [columns][inner], out [rows][columns],
// contiguous, sequences one after the other; sums in fp32.
struct ProductShape {
  int rows = 0;  // of a sequence
  int columns = 0;
  int inner = 0;
  Element type = Element::kBfloat16;  // of x and weight
  bool out_float = false;             // out is fp32, else `type`
  bool add = false;                   // out += instead of out =
};

class Product {
 public:
  virtual ~Product() = default;
  // A sequence has the same bits whatever `sequences` is.
  virtual absl::Status Run(const void* x, const void* weight, void* out, int sequences,
                           CUstream_st* stream) const = 0;
};

// What passes need of a device.
class PassDevice {
 public:
  virtual ~PassDevice() = default;
  virtual absl::StatusOr<std::unique_ptr<Product>> MakeProduct(const ProductShape& shape) = 0;
  // Device memory with these bytes.
  virtual absl::StatusOr<std::shared_ptr<const uint8_t>> Upload(const void* from, size_t bytes) = 0;
};

// What all passes on a device share.
struct PassSetting {
  PassDevice* device = nullptr;
  Element type = Element::kBfloat16;
  int multiprocessors = 0;
  const PackedWeights* packed = nullptr;  // where the weights are, from `weights` on
  const uint8_t* weights = nullptr;       // on the device
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

  // Pictures [bucket][frames][height][width][3], and [bucket][2] areas of them or null, to the rows
  // of the patch product.
  absl::Status Gather(const uint8_t* pictures, const int* areas, int bucket, uint8_t* arena,
                      CUstream_st* stream) const;
  // From the rows of the patch product, made of pictures or of values, to the residual stream after
  // the last layer. The same launches every time, so it can be captured in a graph.
  absl::Status RunLayers(bool values, int bucket, uint8_t* arena, CUstream_st* stream) const;
  // `out`: fp32 [bucket][rows][embed_dim] in OutputOrder; rows 1 or all.
  absl::Status FinalNorm(int rows, int bucket, uint8_t* arena, float* out,
                         CUstream_st* stream) const;

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
                     CUstream_st* stream) const;
  absl::Status RunLayer(const LayerAt& layer, const PassAt& at, ScanOrder order, int bucket,
                        uint8_t* arena, CUstream_st* stream, Stream* residual) const;
  absl::Status Mix(const LayerAt& layer, const PassAt& at, int bucket, uint8_t* arena,
                   CUstream_st* stream) const;

  PassSetting setting_;
  BackboneConfig config_;
  ScanPlan scan_;
  std::unique_ptr<Product> patch_embed_;
  std::unique_ptr<Product> in_proj_;
  std::unique_ptr<Product> out_proj_;
  std::shared_ptr<const uint8_t> positions_;    // fp32 [1 + cells][embed_dim]
  std::shared_ptr<const uint8_t> to_temporal_;  // int [tokens]: rows in spatial order; alternating
  std::shared_ptr<const uint8_t> to_spatial_;
};

}  // namespace scanline::cuda
