#pragma once

#include <vector>

#include "model/kernels/kernels.h"

namespace scanline::testing {

// Every set of kernels that this machine can run. The tests name the one at work.
inline std::vector<const Kernels*> KernelsHere() {
  std::vector<const Kernels*> here;
  for (const std::string& name : KernelNames()) {
    if (FindKernels(name)->runs_here()) here.push_back(FindKernels(name));
  }
  return here;
}

}  // namespace scanline::testing
