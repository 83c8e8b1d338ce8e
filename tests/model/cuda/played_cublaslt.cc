// A cuBLASLt that is played on the CPU: what cublasLt.h says of the calls that the engine makes,
// and no more. The engine opens it as it opens the real one.
#include <cublasLt.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

// Of the program (played_cuda.cc).
extern "C" int ScanlinePlayedLaunch(CUstream_st* stream, const void* kernel,
                                    std::function<void()>* work);

namespace {

// What the heuristic offers, the best first. Only the last can be taken.
enum Algorithm : uint64_t { kSplitsSums = 1, kReduces, kNotForMany, kNeedsWorkspace, kGood, kEnd };

struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transpose_a = CUBLAS_OP_N;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows;
  uint64_t columns;
  int64_t leading;
  int32_t count = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<uint32_t, 4> alignment = {256, 256, 256, 256};
};

template <typename Value>
cublasStatus_t Take(const void* from, size_t bytes, Value* value) {
  if (bytes != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
const Layout& Of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
const Description& Of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<Description*>(desc); }

size_t SizeOf(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

float Load(const void* from, size_t i, cudaDataType_t type) {
  if (type == CUDA_R_32F) return static_cast<const float*>(from)[i];
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(from)[i]} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
void Store(float value, void* to, size_t i, cudaDataType_t type) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(to)[i] = value;
    return;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  static_cast<uint16_t*>(to)[i] = static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

// The rows of the table of cublasLtMatmul() that the engine uses, and shapes that fit.
bool Supported(const Description& desc, const Layout& a, const Layout& b, const Layout& c,
               const Layout& d) {
  const bool types = desc.compute == CUBLAS_COMPUTE_32F && desc.scale == CUDA_R_32F &&
                     a.type == b.type && c.type == d.type &&
                     (a.type == CUDA_R_16BF || a.type == CUDA_R_32F) &&
                     (d.type == CUDA_R_32F || d.type == a.type);
  const bool transposed = desc.transpose_a == CUBLAS_OP_T;
  const uint64_t m = transposed ? a.columns : a.rows;
  const uint64_t k = transposed ? a.rows : a.columns;
  bool sizes =
      d.rows == m && d.columns == b.columns && b.rows == k && c.rows == m && c.columns == d.columns;
  for (const Layout* layout : {&a, &b, &c, &d}) {
    sizes =
        sizes && layout->leading >= static_cast<int64_t>(layout->rows) && layout->count == d.count;
  }
  return types && sizes;
}

bool Aligned(const void* at, const Layout& layout) {
  const size_t element = SizeOf(layout.type);
  return reinterpret_cast<uintptr_t>(at) % 16 == 0 && layout.leading * element % 16 == 0 &&
         layout.stride * element % 16 == 0;
}

struct Operand {
  const void* at;
  Layout layout;
  float operator()(int batch, size_t row, size_t column) const {
    return Load(at, batch * layout.stride + column * layout.leading + row, layout.type);
  }
};

void Multiply(const Description& desc, float alpha, const Operand& a, const Operand& b, float beta,
              const Operand& c, void* to, const Layout& d) {
  const bool transposed = desc.transpose_a == CUBLAS_OP_T;
  for (int batch = 0; batch < d.count; ++batch) {
    for (size_t column = 0; column < d.columns; ++column) {
      for (size_t row = 0; row < d.rows; ++row) {
        double sum = 0;
        for (size_t k = 0; k < b.layout.rows; ++k) {
          sum += double{transposed ? a(batch, k, row) : a(batch, row, k)} * b(batch, k, column);
        }
        const float added = beta == 0 ? 0 : beta * c(batch, row, column);  // c is not read
        Store(alpha * static_cast<float>(sum) + added, to,
              batch * d.stride + column * d.leading + row, d.type);
      }
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Description{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete reinterpret_cast<Description*>(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t name, const void* from,
                                              size_t bytes) {
  if (name != CUBLASLT_MATMUL_DESC_TRANSA) return CUBLAS_STATUS_INVALID_VALUE;
  return Take(from, bytes, &reinterpret_cast<Description*>(desc)->transpose_a);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void* from, size_t bytes) {
  auto& to = *reinterpret_cast<Layout*>(layout);
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return Take(from, bytes, &to.count);
  if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return Take(from, bytes, &to.stride);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* from, size_t bytes) {
  auto& to = *reinterpret_cast<Preference*>(preference);
  switch (name) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Take(from, bytes, &to.workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Take(from, bytes, &to.schemes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Take(from, bytes, to.alignment.data());
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Take(from, bytes, &to.alignment[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Take(from, bytes, &to.alignment[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Take(from, bytes, &to.alignment[3]);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/,
                                              cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  *count = 0;
  const auto& wanted = *reinterpret_cast<Preference*>(preference);
  if (!Supported(Of(desc), Of(a), Of(b), Of(c), Of(d)) || wanted.workspace != 0 ||
      wanted.schemes != CUBLASLT_REDUCTION_SCHEME_NONE ||
      wanted.alignment != std::array<uint32_t, 4>{16, 16, 16, 16}) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  for (uint64_t algorithm = kSplitsSums; algorithm < kEnd && *count < most; ++algorithm) {
    found[*count] = {};
    found[*count].algo.data[0] = algorithm;
    found[*count].state = CUBLAS_STATUS_SUCCESS;
    ++*count;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    void* to, size_t bytes, size_t* written) {
  if (bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  int32_t value = 0;
  if (name == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) {
    value = algorithm->data[0] == kSplitsSums ? 2 : 1;
  } else if (name == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) {
    value = algorithm->data[0] == kReduces ? CUBLASLT_REDUCTION_SCHEME_INPLACE
                                           : CUBLASLT_REDUCTION_SCHEME_NONE;
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(to, &value, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!Supported(Of(desc), Of(a), Of(b), Of(c), Of(d)) ||
      (algorithm->data[0] == kNotForMany && Of(d).count > 32)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  *result = {};
  result->algo = *algorithm;
  result->workspaceSize = algorithm->data[0] == kNeedsWorkspace ? 1024 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t desc,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (!Supported(Of(desc), Of(a_layout), Of(b_layout), Of(c_layout), Of(d_layout)) ||
      algorithm == nullptr || algorithm->data[0] != kGood || workspace != nullptr ||
      workspace_bytes != 0 || !Aligned(a, Of(a_layout)) || !Aligned(b, Of(b_layout)) ||
      !Aligned(c, Of(c_layout)) || !Aligned(d, Of(d_layout))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  // Host pointers are read now, descriptions may go after the call.
  std::function<void()> work = [desc = Of(desc), alpha = *static_cast<const float*>(alpha),
                                a = Operand{a, Of(a_layout)}, b = Operand{b, Of(b_layout)},
                                beta = *static_cast<const float*>(beta),
                                c = Operand{c, Of(c_layout)}, d,
                                to = Of(d_layout)] { Multiply(desc, alpha, a, b, beta, c, d, to); };
  static const int kKernel = 0;
  return ScanlinePlayedLaunch(stream, &kKernel, &work) == 0 ? CUBLAS_STATUS_SUCCESS
                                                            : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
