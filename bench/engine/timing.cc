#include "bench/engine/timing.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/status_macros.h"

namespace scanline::bench {

double WallSeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Timing Summary(std::vector<double> pass_s, int batch, double wall, double cpu) {
  Timing timing;
  const double clips = static_cast<double>(pass_s.size()) * batch;
  timing.clip_s = *std::min_element(pass_s.begin(), pass_s.end()) / batch;
  timing.clips_per_s = clips / wall;
  timing.cpu_s = cpu / clips;
  timing.pass_s = std::move(pass_s);
  return timing;
}

absl::StatusOr<Timing> TimePasses(int runs, int batch, const std::function<absl::Status()>& pass) {
  std::vector<double> pass_s;
  const double cpu = CpuSeconds();
  const double began = WallSeconds();
  for (int run = 0; run < runs; ++run) {
    const double start = WallSeconds();
    SCANLINE_RETURN_IF_ERROR(pass());
    pass_s.push_back(WallSeconds() - start);
  }
  return Summary(std::move(pass_s), batch, WallSeconds() - began, CpuSeconds() - cpu);
}

}  // namespace scanline::bench
