#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/kernels/kernels.h"
#include "model/weights.h"

namespace scanline {

// A linear layer on the packed kernels: a row of its result has the same bits whatever rows stand
// beside it.
class Linear {
 public:
  Linear() = default;
  // Of the layers `names` (.weight [columns][inner], .bias) one below the other: their results
  // stand side by side. The packed copy is shared with every other Linear of the same weights that
  // is alive, so that workers of one bundle hold it once; `weights` must outlive this.
  Linear(const Weights& weights, const std::vector<std::string>& names);

  int columns() const { return packed_->columns; }

  struct Rows {
    const float* x;  // [count][inner]
    ptrdiff_t x_stride;
    int count;
    float* out;  // [count][columns]
    bool gelu = false;
  };
  // Shared among the caller's threads (tensor_ops.h, UseThreads).
  void Run(const Kernels& kernels, const Rows& rows) const;

 private:
  struct Packed {
    AlignedFloats weight;
    AlignedFloats bias;
    int inner;
    int columns;
  };
  static std::shared_ptr<const Packed> Pack(const Weights& weights,
                                            const std::vector<std::string>& names);
  static std::shared_ptr<const Packed> Shared(const Weights& weights,
                                              const std::vector<std::string>& names);

  std::shared_ptr<const Packed> packed_;
};

}  // namespace scanline
