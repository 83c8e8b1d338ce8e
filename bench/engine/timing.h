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
  double clip_s = 0;           // the shortest pass, divided by the clips that ran side by side
  double clips_per_s = 0;      // over all of the time
  double cpu_s = 0;            // a clip
};

// Of passes of `batch` clips each, on every one of `side_by_side` threads or teams: `wall` and
// `cpu` seconds for all of them.
Timing Summary(std::vector<double> pass_s, int batch, int side_by_side, double wall, double cpu);

// `runs` passes of `batch` clips, one after another. The first error ends it.
absl::StatusOr<Timing> TimePasses(int runs, int batch, const std::function<absl::Status()>& pass);

}  // namespace scanline::bench
