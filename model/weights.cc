#include "model/weights.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include "base/check.h"

namespace scanline {

AlignedFloats AllocateFloats(size_t count) {
  constexpr size_t kLine = 64;
  const size_t bytes = (count * sizeof(float) + kLine) / kLine * kLine;
  auto* memory = static_cast<float*>(std::aligned_alloc(kLine, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedFloats(memory);
}

int64_t Tensor::size() const {
  int64_t count = 1;
  for (int64_t side : shape) count *= side;
  return count;
}

float* Weights::Add(const std::string& name, std::vector<int64_t> shape) {
  Tensor& tensor = tensors_[name];
  tensor.shape = std::move(shape);
  tensor.data = AllocateFloats(static_cast<size_t>(tensor.size()));
  return tensor.data.get();
}

void Weights::Add(const std::string& name, std::vector<int64_t> shape,
                  absl::Span<const float> values) {
  float* to = Add(name, std::move(shape));
  SCANLINE_CHECK(static_cast<int64_t>(values.size()) == Get(name).size());
  std::copy(values.begin(), values.end(), to);
}

const Tensor& Weights::Get(const std::string& name) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) std::fprintf(stderr, "no tensor %s\n", name.c_str());
  SCANLINE_CHECK(at != tensors_.end());
  return at->second;
}

}  // namespace scanline
