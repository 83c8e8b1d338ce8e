#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// Shapes by the name that a bundle gives the tensor.
using TensorShapes = std::map<std::string, std::vector<int64_t>>;

inline constexpr int64_t kMaxTensorSide = 16'384;  // As model/config.cc has it.

// The shape of a tensor that must be there, with one of the numbers of `dimensions` of sides, each
// from 1 to `most`. BUNDLE_INVALID, naming what there is instead.
absl::StatusOr<std::vector<int64_t>> ShapeOf(const TensorShapes& shapes, const std::string& name,
                                             std::initializer_list<size_t> dimensions,
                                             int64_t most = kMaxTensorSide);

// The number of layers whose tensors are called <prefix>N.*; at most 1024.
int LayersUnder(const TensorShapes& shapes, absl::string_view prefix);

}  // namespace scanline
