#include "model/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline::cuda {
namespace {

constexpr const char* kLibrary = "libcublasLt.so.13";

std::vector<std::string> Places() {
  const char* named = std::getenv("SCANLINE_CUBLASLT");
  if (named != nullptr && *named != '\0') return {named};
  return {kLibrary, absl::StrCat(SCANLINE_CUDA_LIBRARY_DIR, "/", kLibrary),
          absl::StrCat("/usr/local/cuda/lib64/", kLibrary)};
}

absl::StatusOr<void*> OpenLibrary() {
  std::vector<std::string> failures;
  for (const std::string& place : Places()) {
    void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    failures.emplace_back(dlerror());
  }
  return MakeError(Reason::kInternal,
                   absl::StrCat("cuBLASLt of CUDA 13 is needed for a CUDA device and was not "
                                "opened: ",
                                absl::StrJoin(failures, "; "),
                                "; install libcublas-13-0, or name the file in SCANLINE_CUBLASLT"));
}

template <typename Function>
absl::Status Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return MakeError(Reason::kInternal, absl::StrCat(kLibrary, " has no ", name));
}

absl::StatusOr<CublasLt> OpenAll() {
  SCANLINE_ASSIGN_OR_RETURN(void* const library, OpenLibrary());
  CublasLt lt{};
  for (const absl::Status& found :
       {Find(library, "cublasLtCreate", &lt.Create), Find(library, "cublasLtDestroy", &lt.Destroy),
        Find(library, "cublasLtMatmul", &lt.Matmul),
        Find(library, "cublasLtMatmulAlgoGetHeuristic", &lt.GetHeuristic),
        Find(library, "cublasLtMatmulAlgoCheck", &lt.CheckAlgo),
        Find(library, "cublasLtMatmulAlgoConfigGetAttribute", &lt.GetAlgoAttribute),
        Find(library, "cublasLtMatmulDescCreate", &lt.CreateDesc),
        Find(library, "cublasLtMatmulDescDestroy", &lt.DestroyDesc),
        Find(library, "cublasLtMatmulDescSetAttribute", &lt.SetDescAttribute),
        Find(library, "cublasLtMatrixLayoutCreate", &lt.CreateLayout),
        Find(library, "cublasLtMatrixLayoutDestroy", &lt.DestroyLayout),
        Find(library, "cublasLtMatrixLayoutSetAttribute", &lt.SetLayoutAttribute),
        Find(library, "cublasLtMatmulPreferenceCreate", &lt.CreatePreference),
        Find(library, "cublasLtMatmulPreferenceDestroy", &lt.DestroyPreference),
        Find(library, "cublasLtMatmulPreferenceSetAttribute", &lt.SetPreferenceAttribute)}) {
    SCANLINE_RETURN_IF_ERROR(found);
  }
  return lt;
}

}  // namespace

absl::StatusOr<const CublasLt*> CublasLt::Open() {
  static const auto* const opened = new absl::StatusOr<CublasLt>(OpenAll());
  SCANLINE_RETURN_IF_ERROR(opened->status());
  return &**opened;
}

absl::Status CublasStatus(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const Reason reason =
      status == CUBLAS_STATUS_ALLOC_FAILED ? Reason::kDeviceMemory : Reason::kInternal;
  return MakeError(reason, absl::StrCat("cuBLASLt failed at ", doing, ": status ", int{status}));
}

}  // namespace scanline::cuda
