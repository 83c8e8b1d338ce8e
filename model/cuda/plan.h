#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/error.h"

// What the CUDA engine decides, free of CUDA: how a batch is cut, what happens when memory runs out
// or a device breaks, which device a name means. The code that acts on it is cuda_backbone.cc.

namespace scanline::cuda {

// Views that a pass computes. There is one CUDA graph a bucket; places without a view are padding,
// which is computed and not read.
inline constexpr std::array<int, 7> kBuckets = {1, 2, 4, 8, 16, 32, 64};
inline constexpr int kMostViews = kBuckets.back();

// Views [first, first + count) of a batch, in a pass of `bucket`.
struct Part {
  int first = 0;
  int count = 0;
  int bucket = 0;
};

// The next part of a batch of which `first` views are done, in a pass of at most `most` views, a
// bucket. At most a quarter of a pass is padding.
Part NextPart(int first, int views, int most);

// How large a pass may be, learned from the device: every time that memory runs out, passes as
// large as the one that failed are halved for good. Counted in tokens, which memory is proportional
// to, so that what one shape taught holds for all.
class TokenCap {
 public:
  // The largest bucket for views of so many tokens; 1 at least.
  int MostViews(int64_t tokens) const;
  // A pass of `bucket` views found no memory. False: it was of one view, which no cap can help.
  bool Halve(int bucket, int64_t tokens);

 private:
  int64_t most_ = std::numeric_limits<int64_t>::max();
};

// Pairs of staging buffers: while one part is computed, the next one is copied.
inline constexpr int kSlots = 2;

// What RunInParts needs of a device.
class PartRunner {
 public:
  virtual ~PartRunner() = default;
  // Begins a part; slots take turns. After an error nothing of the part has been begun, and parts
  // that were begun before are still to be finished.
  virtual absl::Status Start(const Part& part, int slot) = 0;
  // Waits for a part and hands its answers over, in the order of Start.
  virtual absl::Status Finish(const Part& part, int slot) = 0;
};

// Runs a batch of views of so many tokens each. A part that ends with DEVICE_MEMORY is run again in
// halves, down to one view; any other error ends the batch, after what was begun is finished.
absl::Status RunInParts(int views, int64_t tokens, TokenCap* cap, PartRunner* runner);

// What a cudaError_t means: DEVICE_MEMORY (this pass was too large), DEVICE_LOST (the error is
// sticky: every later call of the process fails too, so the worker must go) or INTERNAL. Not for 0.
Reason ReasonOfCudaError(int error);

// The Status of a launch or another call that returned `error`; OK for 0.
absl::Status LaunchStatus(int error, absl::string_view doing);

// What failed, when waiting for the device afterwards gave `ended`: a lost device is the cause of
// whatever failed before that was known, and not every library names it.
absl::Status WithCause(const absl::Status& failed, int ended);

// What the machine has.
struct CudaSystem {
  bool built = false;  // this program has the CUDA engine
  int devices = 0;
  std::string why_none;                    // when devices is 0: what the driver said
  std::vector<std::string> unusable = {};  // of each device, why; empty, or none: it can be used
};

// Why the kernels do not run on a device of this compute capability; empty: they do.
std::string WhyTooOld(absl::string_view name, int major, int minor);

struct DeviceChoice {
  int cuda = -1;     // ordinal; -1: the CPU
  std::string note;  // for the log, when "auto" chose the CPU: why
};

// `wanted`: "cpu", "auto" (the first CUDA device that can be used, else the CPU) or "cuda:N".
// FIELD_INVALID for other names and for devices that are not there or cannot be used.
absl::StatusOr<DeviceChoice> ChooseDevice(absl::string_view wanted, const CudaSystem& system);

}  // namespace scanline::cuda
