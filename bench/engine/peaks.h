#pragma once

#include "model/config.h"
#include "model/kernels/kernels.h"

// What the machine can do at most, and the scan beside it.

namespace scanline::bench {

// Nanoseconds of one fused multiply-add of a whole register, one thread, independent chains; 0
// where the CPU lacks the instructions.
struct FmaPeak {
  double ns_256 = 0;
  double ns_512 = 0;
  double gflops_256 = 0;  // of all threads
  double gflops_512 = 0;
};
// Keeps what was best so far.
void MeasureFma(int threads, FmaPeak* best);

// STREAM's triad a = b + s c over arrays far larger than the caches; 10^9 bytes a second by its
// counting, 24 for every element of 8 bytes.
double MeasureTriad(int threads);

// Both directions' scan tiles of one layer, one thread: nanoseconds for one (channel, state, token)
// of one direction, softplus and D included, the sum of directions and the gate not. The best run.
double MeasureScan(const BackboneConfig& config, const Kernels& kernels, int runs);

}  // namespace scanline::bench
