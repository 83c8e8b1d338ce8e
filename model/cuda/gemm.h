#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/cuda/cublas_lt.h"
#include "model/cuda/pass.h"

namespace scanline::cuda {

// A matrix product of one shape with one algorithm, so that a sequence has the same bits in every
// batch: sequences are the batch of a strided-batched product, so each is tiled from its own first
// row whatever stands beside it; cuBLASLt is asked once a shape, for `tuned` sequences, and its
// answer is used for every batch; algorithms that share a sum among blocks (split-K; stream-K,
// which needs a workspace) are not taken, so a sum has one order. No TF32.
class Gemm : public Product {
 public:
  // INTERNAL when no algorithm serves all buckets.
  static absl::StatusOr<std::unique_ptr<Product>> Make(const CublasLt& lt, cublasLtHandle_t handle,
                                                       const ProductShape& shape, int tuned);

  absl::Status Run(const void* x, const void* weight, void* out, int sequences,
                   CUstream_st* stream) const override;

 private:
  struct FreeDesc {
    const CublasLt* lt;
    void operator()(cublasLtMatmulDesc_t desc) const { lt->DestroyDesc(desc); }
  };
  struct FreeLayout {
    const CublasLt* lt;
    void operator()(cublasLtMatrixLayout_t layout) const { lt->DestroyLayout(layout); }
  };
  using Desc = std::unique_ptr<cublasLtMatmulDescOpaque_t, FreeDesc>;
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, FreeLayout>;
  struct Layouts {
    Layout weight;
    Layout x;
    Layout out;
  };

  Gemm(const CublasLt& lt, cublasLtHandle_t handle, const ProductShape& shape)
      : lt_(&lt), handle_(handle), shape_(shape) {}
  absl::Status MakeDesc();
  absl::StatusOr<Layout> MakeLayout(cudaDataType_t type, int inner, int rows, int sequences,
                                    int64_t stride) const;
  absl::StatusOr<Layouts> MakeLayouts(int sequences) const;
  absl::Status ChooseAlgorithm(int tuned);
  absl::StatusOr<bool> ServesAllBuckets(const cublasLtMatmulAlgo_t& algorithm) const;

  const CublasLt* lt_;
  cublasLtHandle_t handle_;
  ProductShape shape_;
  Desc desc_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace scanline::cuda
