#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/plan.h"

namespace scanline {

struct WrittenWeights {
  std::string sha256;
  uint64_t bytes = 0;
  uint64_t values = 0;
};

// Writes the planned tensors as a safetensors file of F32, one tensor in memory at a time. Errors:
// BUNDLE_INVALID for a damaged source and for values that are not finite, CANCELLED when `stop`
// (may be null) is raised, INTERNAL when the disk refuses.
absl::StatusOr<WrittenWeights> WriteWeights(const Checkpoint& checkpoint, const ImportPlan& plan,
                                            const std::string& path, const std::atomic<bool>* stop);

}  // namespace scanline
