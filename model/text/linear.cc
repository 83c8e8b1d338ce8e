#include "model/text/linear.h"

#include <algorithm>

#include "model/shared_copies.h"
#include "model/tensor_ops.h"

namespace scanline {

std::shared_ptr<const Linear::Packed> Linear::Pack(const Weights& weights,
                                                   const std::vector<std::string>& names) {
  std::vector<const float*> columns;
  std::vector<float> bias;
  int64_t inner = 0;
  for (const std::string& name : names) {
    const Tensor& weight = weights.Get(name + ".weight");
    inner = weight.shape[1];
    for (int64_t row = 0; row < weight.shape[0]; ++row) {
      columns.push_back(weight.data.get() + row * inner);
    }
    const float* values = weights.Data(name + ".bias");
    bias.insert(bias.end(), values, values + weight.shape[0]);
  }
  auto packed = std::make_shared<Packed>();
  packed->inner = static_cast<int>(inner);
  packed->columns = static_cast<int>(columns.size());
  packed->weight =
      AllocateFloats(static_cast<size_t>(PanelCount(packed->columns)) * kPanel * packed->inner);
  PackLinear(columns.data(), packed->columns, packed->inner, packed->weight.get());
  packed->bias = AllocateFloats(bias.size());
  std::copy(bias.begin(), bias.end(), packed->bias.get());
  return packed;
}

std::shared_ptr<const Linear::Packed> Linear::Shared(const Weights& weights,
                                                     const std::vector<std::string>& names) {
  // By where the unpacked weights are: those outlive every copy, so no two share an address.
  static auto* const copies = new SharedCopies<std::vector<const float*>, Packed>;
  std::vector<const float*> key;
  for (const std::string& name : names) key.push_back(weights.Data(name + ".weight"));
  return copies->Get(key, [&] { return Pack(weights, names); });
}

Linear::Linear(const Weights& weights, const std::vector<std::string>& names)
    : packed_(Shared(weights, names)) {}

void Linear::Run(const Kernels& kernels, const Rows& rows) const {
  PackedLinear op{.rows = rows.count,
                  .inner = packed_->inner,
                  .columns = packed_->columns,
                  .x = rows.x,
                  .x_stride = rows.x_stride,
                  .weight = packed_->weight.get(),
                  .bias = packed_->bias.get(),
                  .out = rows.out,
                  .out_stride = packed_->columns,
                  .gelu = rows.gelu};
  ParallelFor(PanelCount(op.columns), 1, [&](int64_t begin, int64_t end) {
    PackedLinear part = op;
    part.panel_begin = static_cast<int>(begin);
    part.panel_end = static_cast<int>(end);
    kernels.packed_linear(part);
  });
}

}  // namespace scanline
