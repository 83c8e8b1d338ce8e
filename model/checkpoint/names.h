#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/checkpoint/checkpoint.h"

namespace scanline {

// A checkpoint's tensors under the official state-dict names.
struct NamedTensors {
  std::map<std::string, size_t> index;  // name -> place in Checkpoint::tensors()
  std::vector<std::string> prefixes;    // that were taken off: "module.", "backbone.", ...
  std::vector<std::string> training;    // heads of pre-training only, left out
};

// Takes off the prefixes that wrappers add and the multimodal model's `vision_encoder.`, calls the
// last norm norm_f and BERT's tensors text_encoder.*, and leaves out what only training used
// (decoder and distillation heads, the CLIP teacher, BERT's head of masked words). An error where
// two tensors end up with one name.
absl::StatusOr<NamedTensors> NormaliseNames(const std::vector<CheckpointTensor>& tensors);

// A name without the prefixes that wrappers add.
std::string WithoutPrefixes(const std::string& name);

// "layers.*.mixer.D_b (24), head.bias and 3 more": names that differ in their layer alone, and
// those of one head of training, are one group, and at most five groups are shown. Control
// characters, which would drive a terminal or break the line, are "?".
std::string ShortGroups(const std::vector<std::string>& names);

}  // namespace scanline
