#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace scanline {

// The bytes of one file, which may still be arriving. Where the answer to a question depends on
// bytes that have not come, the call waits for them; so whoever reads sees the whole file, only
// later, and decodes the same frames as from memory. An error ends the reading: its Status is what
// the decoding ends with.
class ByteInput {
 public:
  virtual ~ByteInput() = default;

  // Copies up to `size` (> 0) bytes from `offset` on, and says how many. 0: the file ends there.
  virtual absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) = 0;
  // The whole file's length.
  virtual absl::StatusOr<int64_t> Size() = 0;
  // Whether the file has at least `bytes` bytes.
  virtual absl::StatusOr<bool> Reaches(int64_t bytes) = 0;
  // Whether bytes are still to come. Does not wait.
  virtual bool Arriving() const { return false; }
};

// The first `size` bytes of another input, borrowed, as a file of their own.
class PrefixInput final : public ByteInput {
 public:
  PrefixInput(ByteInput& whole, int64_t size) : whole_(whole), size_(size) {}

  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) override;
  absl::StatusOr<int64_t> Size() override { return size_; }
  absl::StatusOr<bool> Reaches(int64_t bytes) override { return bytes <= size_; }

 private:
  ByteInput& whole_;
  int64_t size_;
};

// A file in memory, borrowed.
class MemoryInput final : public ByteInput {
 public:
  explicit MemoryInput(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) override;
  absl::StatusOr<int64_t> Size() override { return static_cast<int64_t>(bytes_.size()); }
  absl::StatusOr<bool> Reaches(int64_t bytes) override {
    return bytes <= static_cast<int64_t>(bytes_.size());
  }

 private:
  absl::Span<const uint8_t> bytes_;
};

}  // namespace scanline
