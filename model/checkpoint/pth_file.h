#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"

namespace scanline {

// A file of torch.save in its zip format (PyTorch 1.6 and later), through the restricted pickle
// reader: the tensors of the state dict that it holds, itself or under `model`, `module` or
// `state_dict`. `bytes` is borrowed for the life of the result.
absl::StatusOr<std::unique_ptr<Checkpoint>> OpenPth(absl::Span<const uint8_t> bytes);

}  // namespace scanline
