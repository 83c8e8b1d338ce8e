#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/engine/timing.h"
#include "model/backbone.h"
#include "model/bundle.h"
#include "model/config.h"
#include "model/kernels/kernels.h"
#include "model/weights.h"

// Forward passes of one model from pictures to class logits, timed.

namespace scanline::bench {

// A model and where its weights are: made ones (the generator of tests/data/reference/README.md, so
// that a peer can make the same), or those of a bundle.
struct Subject {
  ModelConfig config;
  Weights made;
  std::shared_ptr<const ModelBundle> bundle;
  std::vector<uint8_t> pictures;  // [frames][size][size][RGB], by the same generator

  const Weights& weights() const { return bundle != nullptr ? bundle->weights() : made; }
};

inline constexpr uint64_t kSeed = 1;

// The first `count` pictures of the generator's, [count][size][size][RGB].
std::vector<uint8_t> MakePictures(const BackboneConfig& config, int count);

// `name`: tiny, small, middle, base (official shapes, 224 pixels), or a bundle's folder. `frames`:
// 0 is 8, or the bundle's own, which it has to be. `layers`: 0 is all of them.
absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const std::string& name, int frames,
                                                     int layers);

struct PassPlan {
  const Kernels* kernels = nullptr;
  Precision precision = Precision::kFp32;
  int threads = 1;
  int runs = 5;  // timed passes, of each thread
};

struct Memory {
  double activations_mb = 0;  // what a pass added to the resident memory beside the weights
  double after_2_mb = 0;      // resident, after so many passes
  double after_all_mb = 0;
  double peak_mb = 0;  // of the process
  int passes = 0;
};

// Of the time that threads worked; `waiting` is of all of their time, and what no timer covers.
struct Shares {
  double products = 0;
  double scan = 0;
  double conv = 0;
  double other = 0;
  double waiting = 0;
};

struct Latency {
  Timing timing;
  Memory memory;
  Shares shares;
  std::vector<float> logits;
};

// One clip after another, each by all threads.
Latency MeasureLatency(const Subject& subject, const PassPlan& plan);

// As many clips side by side as there are threads, each by one, with common weights.
Timing MeasureThroughput(const Subject& subject, const PassPlan& plan);

}  // namespace scanline::bench
