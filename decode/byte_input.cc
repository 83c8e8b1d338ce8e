#include "decode/byte_input.h"

#include <algorithm>
#include <cstring>

namespace scanline {

absl::StatusOr<int64_t> PrefixInput::Read(int64_t offset, uint8_t* out, int64_t size) {
  const int64_t left = size_ - offset;
  if (left <= 0) return 0;
  return whole_.Read(offset, out, std::min(left, size));
}

absl::StatusOr<int64_t> MemoryInput::Read(int64_t offset, uint8_t* out, int64_t size) {
  const int64_t left = static_cast<int64_t>(bytes_.size()) - offset;
  if (left <= 0) return 0;
  const int64_t count = std::min(left, size);
  std::memcpy(out, bytes_.data() + offset, count);
  return count;
}

}  // namespace scanline
