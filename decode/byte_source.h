#pragma once

#include <memory>

#include "absl/types/span.h"
#include "base/cancel.h"

struct AVIOContext;

namespace scanline {

// The only way for libav to reach input: a window onto bytes in memory. Its read callback answers
// AVERROR_EXIT once the request is cancelled or late, since libav does not ask an interrupt
// callback when the caller brings the input. `bytes` is borrowed; the address of this object is
// kept by libav.
class ByteSource {
 public:
  ByteSource(absl::Span<const uint8_t> bytes, const Cancel& cancel);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  AVIOContext* avio() const { return avio_; }
  // The container named a place behind the last byte: the file was cut.
  bool sought_past_end() const { return sought_past_end_; }

 private:
  static int Read(void* self, uint8_t* buffer, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);

  absl::Span<const uint8_t> bytes_;
  Cancel cancel_;
  int64_t position_ = 0;
  bool sought_past_end_ = false;
  AVIOContext* avio_ = nullptr;
};

}  // namespace scanline
