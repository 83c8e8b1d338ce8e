#include "model/cuda/gemm.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/cuda/plan.h"

namespace scanline::cuda {
namespace {

cudaDataType_t TypeOf(Element type) { return type == Element::kFloat32 ? CUDA_R_32F : CUDA_R_16BF; }

struct FreePreference {
  const CublasLt* lt;
  void operator()(cublasLtMatmulPreference_t preference) const {
    lt->DestroyPreference(preference);
  }
};
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, FreePreference>;

// No workspace, no sums shared among blocks, rows that begin at 16 bytes.
absl::StatusOr<Preference> MakePreference(const CublasLt& lt) {
  cublasLtMatmulPreference_t made = nullptr;
  SCANLINE_RETURN_IF_ERROR(CublasStatus(lt.CreatePreference(&made), "making a preference"));
  Preference preference(made, {&lt});
  const uint64_t workspace = 0;
  const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
  const uint32_t alignment = 16;
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    return CublasStatus(lt.SetPreferenceAttribute(made, name, &value, sizeof value),
                        "a preference");
  };
  SCANLINE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace));
  SCANLINE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes));
  for (auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    SCANLINE_RETURN_IF_ERROR(set(name, alignment));
  }
  return preference;
}

// Whether no sum is shared among blocks.
bool SumsInOneOrder(const CublasLt& lt, const cublasLtMatmulAlgo_t& algorithm) {
  int32_t parts = 0;
  uint32_t scheme = 0;
  size_t written = 0;
  return lt.GetAlgoAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts,
                             &written) == CUBLAS_STATUS_SUCCESS &&
         lt.GetAlgoAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                             sizeof scheme, &written) == CUBLAS_STATUS_SUCCESS &&
         parts <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

}  // namespace

absl::Status Gemm::MakeDesc() {
  cublasLtMatmulDesc_t made = nullptr;
  SCANLINE_RETURN_IF_ERROR(
      CublasStatus(lt_->CreateDesc(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product"));
  desc_ = Desc(made, {lt_});
  const cublasOperation_t transposed = CUBLAS_OP_T;
  return CublasStatus(
      lt_->SetDescAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
      "describing a product");
}

// Row-major [rows][inner] is column-major inner x rows. stride: elements between sequences.
absl::StatusOr<Gemm::Layout> Gemm::MakeLayout(cudaDataType_t type, int inner, int rows,
                                              int sequences, int64_t stride) const {
  cublasLtMatrixLayout_t made = nullptr;
  SCANLINE_RETURN_IF_ERROR(
      CublasStatus(lt_->CreateLayout(&made, type, inner, rows, inner), "describing a matrix"));
  Layout layout(made, {lt_});
  const int32_t count = sequences;
  SCANLINE_RETURN_IF_ERROR(CublasStatus(
      lt_->SetLayoutAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
      "describing a matrix"));
  SCANLINE_RETURN_IF_ERROR(
      CublasStatus(lt_->SetLayoutAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &stride, sizeof stride),
                   "describing a matrix"));
  return layout;
}

absl::StatusOr<Gemm::Layouts> Gemm::MakeLayouts(int sequences) const {
  const cudaDataType_t in = TypeOf(shape_.type);
  const cudaDataType_t out = shape_.out_float ? CUDA_R_32F : in;
  const int64_t rows = shape_.rows;
  Layouts made;
  SCANLINE_ASSIGN_OR_RETURN(made.weight,
                            MakeLayout(in, shape_.inner, shape_.columns, sequences, 0));
  SCANLINE_ASSIGN_OR_RETURN(
      made.x, MakeLayout(in, shape_.inner, shape_.rows, sequences, rows * shape_.inner));
  SCANLINE_ASSIGN_OR_RETURN(
      made.out, MakeLayout(out, shape_.columns, shape_.rows, sequences, rows * shape_.columns));
  return made;
}

absl::StatusOr<bool> Gemm::ServesAllBuckets(const cublasLtMatmulAlgo_t& algorithm) const {
  for (int bucket : kBuckets) {
    SCANLINE_ASSIGN_OR_RETURN(const Layouts layouts, MakeLayouts(bucket));
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        lt_->CheckAlgo(handle_, desc_.get(), layouts.weight.get(), layouts.x.get(),
                       layouts.out.get(), layouts.out.get(), &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS || result.workspaceSize > 0) return false;
  }
  return true;
}

absl::Status Gemm::ChooseAlgorithm(int tuned) {
  SCANLINE_ASSIGN_OR_RETURN(const Preference preference, MakePreference(*lt_));
  SCANLINE_ASSIGN_OR_RETURN(const Layouts layouts, MakeLayouts(tuned));
  std::array<cublasLtMatmulHeuristicResult_t, 16> found{};
  int count = 0;
  const cublasStatus_t asked = lt_->GetHeuristic(
      handle_, desc_.get(), layouts.weight.get(), layouts.x.get(), layouts.out.get(),
      layouts.out.get(), preference.get(), static_cast<int>(found.size()), found.data(), &count);
  if (asked != CUBLAS_STATUS_NOT_SUPPORTED) {  // which means that there are none
    SCANLINE_RETURN_IF_ERROR(CublasStatus(asked, "choosing an algorithm"));
  }
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulAlgo_t& algorithm = found[i].algo;
    if (found[i].state != CUBLAS_STATUS_SUCCESS || !SumsInOneOrder(*lt_, algorithm)) continue;
    SCANLINE_ASSIGN_OR_RETURN(const bool serves, ServesAllBuckets(algorithm));
    if (!serves) continue;
    algorithm_ = algorithm;
    return absl::OkStatus();
  }
  return MakeError(
      Reason::kInternal,
      absl::StrCat("none of cuBLASLt's ", count, " algorithms for ", shape_.rows, "x", shape_.inner,
                   " by ", shape_.columns, " serves every batch without split-K and workspace"));
}

absl::StatusOr<std::unique_ptr<Product>> Gemm::Make(const CublasLt& lt, cublasLtHandle_t handle,
                                                    const ProductShape& shape, int tuned) {
  std::unique_ptr<Gemm> gemm(new Gemm(lt, handle, shape));
  SCANLINE_RETURN_IF_ERROR(gemm->MakeDesc());
  SCANLINE_RETURN_IF_ERROR(gemm->ChooseAlgorithm(tuned));
  return gemm;
}

absl::Status Gemm::Run(const void* x, const void* weight, void* out, int sequences,
                       CUstream_st* stream) const {
  SCANLINE_ASSIGN_OR_RETURN(const Layouts layouts, MakeLayouts(sequences));
  const float alpha = 1;
  const float beta = shape_.add ? 1 : 0;
  return CublasStatus(
      lt_->Matmul(handle_, desc_.get(), &alpha, weight, layouts.weight.get(), x, layouts.x.get(),
                  &beta, out, layouts.out.get(), out, layouts.out.get(), &algorithm_,
                  /*workspace=*/nullptr, /*workspaceSizeInBytes=*/0, stream),
      "a matrix product");
}

}  // namespace scanline::cuda
