#include "model/kernels/kernels.h"

#include "model/kernels/avx2.h"

namespace scanline {
namespace {

constexpr Kernels kScalar = {
    .name = "scalar",
    .runs_here = [] { return true; },
    .takes_scan = [](const SelectiveScan<float>&) { return true; },
    .takes_conv = [](const CausalConv<float>&) { return true; },
    .selective_scan = [](const SelectiveScan<float>& op, float*) { SelectiveScanReference(op); },
    .causal_conv = CausalConvReference<float>,
    .add_norm = AddNormReference<float>,
};

#if defined(__x86_64__)
constexpr Kernels kAvx2 = {
    .name = "avx2",
    .runs_here = [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); },
    .takes_scan = TakesScanAvx2,
    .takes_conv = TakesConvAvx2,
    .selective_scan = SelectiveScanAvx2,
    .causal_conv = CausalConvAvx2,
    .add_norm = AddNormAvx2,
};
constexpr const Kernels* kAll[] = {&kScalar, &kAvx2};
#else
constexpr const Kernels* kAll[] = {&kScalar};
#endif

}  // namespace

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const Kernels* kernels : kAll) names.emplace_back(kernels->name);
  return names;
}

const Kernels* FindKernels(const std::string& name) {
  for (const Kernels* kernels : kAll) {
    if (name == kernels->name) return kernels;
  }
  return nullptr;
}

const Kernels& BestKernels() {
  const Kernels* best = &kScalar;
  for (const Kernels* kernels : kAll) {
    if (kernels->runs_here()) best = kernels;
  }
  return *best;
}

}  // namespace scanline
