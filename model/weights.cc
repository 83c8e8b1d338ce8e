#include "model/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include "base/check.h"

namespace scanline {

AlignedFloats AllocateFloats(size_t count) {
  constexpr size_t kLine = 64;
  constexpr size_t kHugePage = size_t{2} << 20;
  // Long streams stop at every small page, for the prefetcher as for the page tables.
  const bool huge = count * sizeof(float) >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : kLine;
  const size_t bytes = (count * sizeof(float) + unit) / unit * unit;
  auto* memory = static_cast<float*>(std::aligned_alloc(unit, bytes));
  if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (huge) madvise(memory, bytes, MADV_HUGEPAGE);  // Where the system has none, small ones do.
#endif
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
