#pragma once

#include <cublasLt.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace scanline::cuda {

// The functions of libcublasLt that we call, opened at run time: a program that was linked to it
// would not start on a machine without it.
struct CublasLt {
  decltype(&cublasLtCreate) Create;
  decltype(&cublasLtDestroy) Destroy;
  decltype(&cublasLtMatmul) Matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) GetHeuristic;
  decltype(&cublasLtMatmulAlgoCheck) CheckAlgo;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) GetAlgoAttribute;
  decltype(&cublasLtMatmulDescCreate) CreateDesc;
  decltype(&cublasLtMatmulDescDestroy) DestroyDesc;
  decltype(&cublasLtMatmulDescSetAttribute) SetDescAttribute;
  decltype(&cublasLtMatrixLayoutCreate) CreateLayout;
  decltype(&cublasLtMatrixLayoutDestroy) DestroyLayout;
  decltype(&cublasLtMatrixLayoutSetAttribute) SetLayoutAttribute;
  decltype(&cublasLtMatmulPreferenceCreate) CreatePreference;
  decltype(&cublasLtMatmulPreferenceDestroy) DestroyPreference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) SetPreferenceAttribute;

  // Opened once and kept for the life of the process. SCANLINE_CUBLASLT names a file; else the
  // loader's folders are searched (those of LibTorch's CUDA libraries too), then the toolkit's.
  static absl::StatusOr<const CublasLt*> Open();
};

// A Status of what a cuBLASLt call returned.
absl::Status CublasStatus(cublasStatus_t status, const char* doing);

}  // namespace scanline::cuda
