#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace scanline {

struct CheckpointTensor {
  std::string name;   // as the file says it
  std::string dtype;  // in the words of safetensors: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;

  int64_t size() const {
    int64_t count = 1;
    for (int64_t side : shape) count *= side;
    return count;
  }
};

// A file of named tensors: a .pth of torch.save or a .safetensors. Untrusted: nothing in it is
// executed, and no memory is taken that the file's own size does not account for.
class Checkpoint {
 public:
  // Tells the format by the first bytes. `bytes` is borrowed for the life of the checkpoint.
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(absl::Span<const uint8_t> bytes);
  virtual ~Checkpoint() = default;

  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  const std::string& format() const { return format_; }  // "safetensors", "torch.save"
  // The keys under which the state dict was found, "model" or "state/model"; "" for the file
  // itself.
  const std::string& wrapper() const { return wrapper_; }
  // What stands beside the state dict and is not looked at: "optimizer", "epoch", ...
  const std::vector<std::string>& beside() const { return beside_; }
  // Entries of the state dict that are no plain tensors.
  const std::vector<std::string>& not_tensors() const { return not_tensors_; }
  // What each of them is, in the words of the file.
  const std::vector<std::string>& types_not_read() const { return types_not_read_; }

  // Row-major values of tensors()[index], converted; `out` has size() floats. Types other than F32,
  // F16, BF16 and F64 are an error.
  virtual absl::Status ReadFloats(size_t index, float* out) const = 0;

 protected:
  explicit Checkpoint(std::string format) : format_(std::move(format)) {}

  std::string format_;
  std::vector<CheckpointTensor> tensors_;
  std::string wrapper_;
  std::vector<std::string> beside_;
  std::vector<std::string> not_tensors_;
  std::vector<std::string> types_not_read_;
};

// `bytes` holds the values of `tensor`, row-major and little-endian.
absl::Status ConvertToFloats(const CheckpointTensor& tensor, absl::Span<const uint8_t> bytes,
                             float* out);

}  // namespace scanline
