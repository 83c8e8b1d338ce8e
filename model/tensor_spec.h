#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace scanline {

// A tensor that a bundle must hold. Side -1: any (position embeddings keep the grid and the length
// they were trained with).
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
};

// Every tensor of the parts that `config` describes, under the official state-dict names; a bundle
// holds these and no others.
std::vector<TensorSpec> ExpectedTensors(const ModelConfig& config);

}  // namespace scanline
