#include "model/kernels/kernels.h"

#include "model/kernels/avx2.h"
#include "model/kernels/avx512.h"

namespace scanline {
namespace {

constexpr Kernels kScalar = {
    .name = "scalar",
    .runs_here = [] { return true; },
    .add_norm = AddNormReference<float>,
    .packed_linear = PackedLinearReference,
    .packed_linear_bf16 = PackedLinearBf16Reference,
    .conv_tile = ConvTileReference<float>,
    .scan_tile = ScanTileReference<float>,
    .gate_tile = GateTileReference<float>,
    .takes_attention = [](const Attention<float>&) { return true; },
    .attention = [](const Attention<float>& op, float*) { AttentionReference(op); },
};

#if defined(__x86_64__)
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

constexpr Kernels kAvx2 = {
    .name = "avx2",
    .runs_here = HasAvx2,
    .add_norm = AddNormAvx2,
    .packed_linear = PackedLinearAvx2,
    .packed_linear_bf16 = nullptr,
    .conv_tile = ConvTileAvx2,
    .scan_tile = ScanTileAvx2,
    .gate_tile = GateTileAvx2,
    .takes_attention = TakesAttentionAvx2,
    .attention = AttentionAvx2,
};

constexpr Kernels Avx512() {
  Kernels kernels = kAvx2;
  kernels.name = "avx512";
  kernels.runs_here = [] { return HasAvx2() && __builtin_cpu_supports("avx512f"); };
  kernels.packed_linear = PackedLinearAvx512;
  kernels.add_norm = AddNormAvx512;
  kernels.conv_tile = ConvTileAvx512;
  kernels.scan_tile = ScanTileAvx512;
  kernels.gate_tile = GateTileAvx512;
  return kernels;
}
constexpr Kernels kAvx512 = Avx512();

constexpr Kernels Avx512Bf16() {
  Kernels kernels = kAvx512;
  kernels.name = "avx512_bf16";
  kernels.runs_here = [] {
    return kAvx512.runs_here() && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
  };
  kernels.packed_linear_bf16 = PackedLinearAvx512Bf16;
  return kernels;
}
constexpr Kernels kAvx512Bf16 = Avx512Bf16();

constexpr const Kernels* kAll[] = {&kScalar, &kAvx2, &kAvx512, &kAvx512Bf16};
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
