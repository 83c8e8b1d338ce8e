#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

// What scanline-engine-bench is asked for.

namespace scanline::bench {

struct Options {
  std::string model = "tiny";
  int frames = 0;  // 0: 8, or the bundle's
  int layers = 0;  // 0: all
  std::string device = "cpu";
  std::string precision = "auto";
  std::vector<int> batches;  // none: 1
  int runs = 5;
  std::string vectors;  // a folder; empty: no errors

  // Of the CPU.
  std::optional<int> threads;
  std::optional<std::string> path;
  std::optional<std::string> profile;
  bool peaks = false;

  // Of a GPU.
  int kernels = 0;  // clips; 0: not measured
};

// INVALID_ARGUMENT for options that say nothing on such a device, or nothing together.
absl::Status CheckOptions(const Options& options, bool gpu);

}  // namespace scanline::bench
