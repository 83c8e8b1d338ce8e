#include "decode/byte_source.h"

#include <cstdio>
#include <new>
#include <utility>

#include "decode/libav.h"

namespace scanline {
namespace {
constexpr int kBufferBytes = 32 << 10;
}  // namespace

ByteSource::ByteSource(ByteInput& input, const Cancel& cancel, Access access)
    : input_(input), cancel_(cancel), access_(access) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  avio_ = avio_alloc_context(buffer, kBufferBytes, /*write_flag=*/0, this, Read, nullptr, Seek);
  if (avio_ == nullptr) {
    av_free(buffer);
    throw std::bad_alloc();
  }
  if (access_ == Access::kForward) avio_->seekable = 0;
}

ByteSource::~ByteSource() {
  av_freep(&avio_->buffer);  // libav may have replaced the one given
  avio_context_free(&avio_);
}

int ByteSource::Fail(absl::Status why) {
  failure_.Update(std::move(why));
  return AVERROR_EXIT;
}

int ByteSource::Read(void* self, uint8_t* buffer, int size) {
  auto* source = static_cast<ByteSource*>(self);
  if (source->cancel_.cancelled() || source->cancel_.expired()) return AVERROR_EXIT;
  const auto count = source->input_.Read(source->position_, buffer, size);
  if (!count.ok()) return source->Fail(count.status());
  if (*count == 0) return AVERROR_EOF;
  source->position_ += *count;
  return static_cast<int>(*count);
}

int64_t ByteSource::Seek(void* self, int64_t offset, int whence) {
  auto* source = static_cast<ByteSource*>(self);
  whence &= ~AVSEEK_FORCE;
  if (whence == SEEK_CUR) offset += source->position_;
  if (whence == AVSEEK_SIZE || whence == SEEK_END) {
    if (source->access_ == Access::kForward) return AVERROR(ENOSYS);
    const auto size = source->input_.Size();
    if (!size.ok()) return source->Fail(size.status());
    if (whence == AVSEEK_SIZE) return *size;
    offset += *size;
  }
  if (offset < 0) return AVERROR(EINVAL);
  const auto reached = source->input_.Reaches(offset);
  if (!reached.ok()) return source->Fail(reached.status());
  if (!*reached) source->sought_past_end_ = true;
  source->position_ = offset;  // as lseek does; a read behind the end is the end of the file
  return offset;
}

}  // namespace scanline
