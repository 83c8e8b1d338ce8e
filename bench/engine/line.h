#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/engine/errors.h"
#include "bench/engine/options.h"
#include "bench/engine/timing.h"
#include "model/packed_mixer.h"

// The line of JSON that scanline-engine-bench prints. What both devices have means the same: sizes,
// precision, logits of the same clip, timings, errors.

namespace scanline::bench {

using Json = nlohmann::ordered_json;

// On the CPU: `latency` and `throughput`, and `paths_here`.
absl::StatusOr<Json> CpuLine(const Options& options);

// On CUDA device `device`: `speed` of every batch, `kernels`, `chip`.
absl::StatusOr<Json> GpuLine(const Options& options, int device);

// How each begins: what was asked for. `path`: the kernels.
Json BeginLine(const Options& options, const std::string& path, Precision precision);
// The sizes of the model that ran.
void AddSizes(const BackboneConfig& config, Json* line);
Json JsonOf(const Timing& timing);
Json JsonOf(const Error& error);

}  // namespace scanline::bench
