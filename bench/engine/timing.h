#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

// Clocks, and what repeated passes took.

namespace scanline::bench {

double WallSeconds();
double CpuSeconds();  // of all threads of the process

// Seconds are of the wall but for cpu_s, that of all threads of the process.
struct Timing {
  std::vector<double> pass_s;  // of every pass
  double clip_s = 0;           // of the shortest pass; side by side, of all of the time
  double clips_per_s = 0;      // over all of the time
  double cpu_s = 0;            // a clip
};

// Of passes of `batch` clips each, one after another; `wall` and `cpu` seconds for all of them.
Timing Summary(std::vector<double> pass_s, int batch, double wall, double cpu);

// `runs` passes of `batch` clips, one after another. The first error ends it.
absl::StatusOr<Timing> TimePasses(int runs, int batch, const std::function<absl::Status()>& pass);

}  // namespace scanline::bench
