#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/byte_input.h"

namespace scanline::testing {

// A file of which the last bytes have not come: whoever asks for them ends the reading. With
// `share` 1 all are there, but the sender has not said so.
class ArrivingFile final : public ByteInput {
 public:
  ArrivingFile(absl::Span<const uint8_t> bytes, double share)
      : bytes_(bytes), there_(static_cast<int64_t>(share * static_cast<double>(bytes.size()))) {}

  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) override {
    const auto end = static_cast<int64_t>(bytes_.size());
    if (offset >= there_ && there_ < end) return absl::UnavailableError("has not come");
    const int64_t count = std::clamp<int64_t>(there_ - offset, 0, size);
    std::copy_n(bytes_.begin() + std::min(offset, end), count, out);
    return count;
  }
  absl::StatusOr<int64_t> Size() override {
    if (there_ < static_cast<int64_t>(bytes_.size())) return absl::UnavailableError("not known");
    return static_cast<int64_t>(bytes_.size());
  }
  absl::StatusOr<bool> Reaches(int64_t bytes) override {
    if (bytes > there_ && there_ < static_cast<int64_t>(bytes_.size())) {
      return absl::UnavailableError("not known");
    }
    return bytes <= static_cast<int64_t>(bytes_.size());
  }
  bool Arriving() const override { return true; }

 private:
  const absl::Span<const uint8_t> bytes_;
  int64_t there_;
};

}  // namespace scanline::testing
