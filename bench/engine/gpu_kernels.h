#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/config.h"
#include "model/packed_mixer.h"

// Each kernel of a block alone, beside what the chip can do. Compiled where CUDA is.

namespace scanline::bench {

// What the driver says of a device; 0: it does not say.
struct Chip {
  std::string name;  // "NVIDIA H200"
  int multiprocessors = 0;
  double clock_hz = 0;     // the highest
  double bytes_per_s = 0;  // of its memory, in theory
};
absl::StatusOr<Chip> ReadChip(int device);

struct KernelTime {
  std::string kernel;
  double us = 0;         // of a launch, the mean of many that follow each other
  double bytes = 0;      // what has to be read and written once
  double functions = 0;  // of the special-function unit that its formulas need, chunks apart
};

// scan, gate, project and add_norm of one block of VideoMamba, for `batch` clips, on zeros: no
// kernel's time depends on values.
absl::StatusOr<std::vector<KernelTime>> MeasureKernels(int device, Precision precision,
                                                       const BackboneConfig& config, int batch);

}  // namespace scanline::bench
