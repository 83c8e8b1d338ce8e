#pragma once

#include <memory>

#include "absl/status/status.h"
#include "base/cancel.h"
#include "decode/byte_input.h"

struct AVIOContext;

namespace scanline {

// The only way for libav to reach input: a window onto a ByteInput. Its read callback answers
// AVERROR_EXIT once the request is cancelled or late, since libav does not ask an interrupt
// callback when the caller brings the input, and once the input has failed. `input` is borrowed;
// the address of this object is kept by libav.
class ByteSource {
 public:
  // kForward: libav is told that it cannot look ahead, so it takes what comes, in order, and asks
  // for neither the size nor the tail of a file that is still arriving.
  enum class Access { kAnywhere, kForward };

  ByteSource(ByteInput& input, const Cancel& cancel, Access access);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  AVIOContext* avio() const { return avio_; }
  // The container named a place behind the last byte: the file was cut.
  bool sought_past_end() const { return sought_past_end_; }
  // Why libav was told to stop, by the input; OK while it was not.
  const absl::Status& failure() const { return failure_; }

 private:
  static int Read(void* self, uint8_t* buffer, int size);
  static int64_t Seek(void* self, int64_t offset, int whence);
  int Fail(absl::Status why);

  ByteInput& input_;
  Cancel cancel_;
  Access access_;
  int64_t position_ = 0;
  bool sought_past_end_ = false;
  absl::Status failure_;
  AVIOContext* avio_ = nullptr;
};

}  // namespace scanline
