#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/kernels/ops.h"
#include "model/kernels/tiles.h"

namespace scanline {

// One implementation of the operators for one kind of CPU. A fast one takes the shapes and options
// that models use; `takes_attention` says which, and callers use the "scalar" set for the rest.
// None allocates or keeps state; calls on disjoint memory may run side by side.
struct Kernels {
  const char* name;
  bool (*runs_here)();  // this CPU has the instructions
  void (*add_norm)(const AddNorm<float>& op);
  void (*packed_linear)(const PackedLinear& op);
  void (*packed_linear_bf16)(const PackedLinearBf16& op);  // null: no such instructions
  void (*conv_tile)(const ConvTile<float>& op);
  void (*scan_tile)(const ScanTile<float>& op);
  void (*gate_tile)(const GateTile<float>& op);
  bool (*takes_attention)(const Attention<float>& op);
  // `scratch`: AttentionScratchFloats(keys, dim) floats, 64-byte aligned, content arbitrary.
  void (*attention)(const Attention<float>& op, float* scratch);
};

inline size_t AttentionScratchFloats(int keys, int dim) {
  constexpr size_t kLine = 16;
  constexpr size_t kQueries = 4;  // as many at a time
  const size_t padded = (static_cast<size_t>(keys) + kLine - 1) / kLine * kLine;
  return padded * (static_cast<size_t>(dim) + kQueries);
}

// Fastest last: "scalar" (the reference functions), "avx2", "avx512" (attention as avx2),
// "avx512_bf16" (packed_linear_bf16; the rest as avx512).
std::vector<std::string> KernelNames();

// Null for a name that is not in KernelNames() .
const Kernels* FindKernels(const std::string& name);

// The fastest set that runs on this CPU.
const Kernels& BestKernels();

}  // namespace scanline
