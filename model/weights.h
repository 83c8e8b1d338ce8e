#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace scanline {

struct FreeAligned {
  void operator()(float* memory) const { std::free(memory); }
};
using AlignedFloats = std::unique_ptr<float[], FreeAligned>;

// 64-byte aligned, so that matrix products see the same alignment (and give the same bits) on every
// run. Throws std::bad_alloc.
AlignedFloats AllocateFloats(size_t count);

struct Tensor {
  std::vector<int64_t> shape;
  AlignedFloats data;

  int64_t size() const;
};

// Named fp32 tensors, row-major.
class Weights {
 public:
  // Uninitialised memory under a new name, or in place of the old tensor of that name.
  float* Add(const std::string& name, std::vector<int64_t> shape);
  void Add(const std::string& name, std::vector<int64_t> shape, absl::Span<const float> values);

  bool Has(const std::string& name) const { return tensors_.count(name) != 0; }
  // The tensor must be there: the loader has checked it.
  const Tensor& Get(const std::string& name) const;
  const float* Data(const std::string& name) const { return Get(name).data.get(); }

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

}  // namespace scanline
