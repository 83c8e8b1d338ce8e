#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/pickle.h"

namespace scanline {

// A tensor as the pickle of torch.save describes it: a view of a storage, which is an entry of the
// archive.
struct PthTensor {
  std::string name;
  std::string dtype;  // "F32", ...; "" for a type that no weight has
  std::string storage;
  int64_t storage_size = 0;  // values
  int64_t offset = 0;        // values, as the strides
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;
};

struct StateDict {
  std::vector<PthTensor> tensors;  // in the file's order
  std::string wrapper;
  std::vector<std::string> beside;
  std::vector<std::string> not_tensors;
  std::vector<std::string> types;  // of not_tensors: the storage's or the function that makes it
};

// Finds the state dict in what the file pickled. Errors: there is none, it says a name twice, or a
// tensor's view does not fit into its storage.
absl::StatusOr<StateDict> FindStateDict(const Pickle& pickle);

// Bytes of a value of a dtype; 0 for "".
int64_t BytesOfDtype(absl::string_view dtype);

}  // namespace scanline
