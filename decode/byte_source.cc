#include "decode/byte_source.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "decode/libav.h"

namespace scanline {
namespace {
constexpr int kBufferBytes = 32 << 10;
}  // namespace

ByteSource::ByteSource(absl::Span<const uint8_t> bytes, const Cancel& cancel)
    : bytes_(bytes), cancel_(cancel) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  avio_ = avio_alloc_context(buffer, kBufferBytes, /*write_flag=*/0, this, Read, nullptr, Seek);
  if (avio_ == nullptr) {
    av_free(buffer);
    throw std::bad_alloc();
  }
}

ByteSource::~ByteSource() {
  av_freep(&avio_->buffer);  // libav may have replaced the one given
  avio_context_free(&avio_);
}

int ByteSource::Read(void* self, uint8_t* buffer, int size) {
  auto* source = static_cast<ByteSource*>(self);
  if (source->cancel_.cancelled() || source->cancel_.expired()) return AVERROR_EXIT;
  const int64_t left = static_cast<int64_t>(source->bytes_.size()) - source->position_;
  if (left <= 0) return AVERROR_EOF;
  const int64_t count = std::min<int64_t>(left, size);
  std::memcpy(buffer, source->bytes_.data() + source->position_, count);
  source->position_ += count;
  return static_cast<int>(count);
}

int64_t ByteSource::Seek(void* self, int64_t offset, int whence) {
  auto* source = static_cast<ByteSource*>(self);
  const auto size = static_cast<int64_t>(source->bytes_.size());
  whence &= ~AVSEEK_FORCE;
  if (whence == AVSEEK_SIZE) return size;
  if (whence == SEEK_CUR) offset += source->position_;
  if (whence == SEEK_END) offset += size;
  if (offset < 0) return AVERROR(EINVAL);
  if (offset > size) source->sought_past_end_ = true;
  source->position_ = std::min(offset, size);
  return offset;  // as lseek does; a read behind the end is the end of the file
}

}  // namespace scanline
