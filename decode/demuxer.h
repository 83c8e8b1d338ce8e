#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/cancel.h"
#include "decode/byte_input.h"
#include "decode/byte_source.h"
#include "decode/libav.h"
#include "decode/libav_log.h"

namespace scanline {

// The packets of one video stream of a file. Opens nothing else: no file, no URL, no
// playlist (a whitelist of media containers, and an io_open that refuses). Attached pictures (cover
// art) are no video. The stream is the one that av_find_best_stream names: the default one first,
// then by bit rate and frames.
class Demuxer {
  static constexpr auto kAnywhere = ByteSource::Access::kAnywhere;

 public:
  // `input` is borrowed for the life of the object; `findings` too. Errors: VIDEO_UNREADABLE,
  // NO_VIDEO_STREAM, CODEC_UNSUPPORTED, RESOLUTION_LIMIT, EXPIRED_IN_DECODE, CANCELLED, and those
  // of `input`.
  static absl::StatusOr<std::unique_ptr<Demuxer>> Open(ByteInput& input, int64_t max_pixels,
                                                       const Cancel& cancel,
                                                       LibavFindings* findings,
                                                       ByteSource::Access access = kAnywhere);

  // The same for the file's sound: the stream that libav thinks best, or NOT_FOUND. decoder() is
  // null where there is none for it.
  static absl::StatusOr<std::unique_ptr<Demuxer>> OpenSound(ByteInput& input, int64_t max_pixels,
                                                            const Cancel& cancel,
                                                            LibavFindings* findings);

  Demuxer(const Demuxer&) = delete;
  Demuxer& operator=(const Demuxer&) = delete;

  // The next packet of the stream; false at the end of what can be read.
  absl::StatusOr<bool> Read(AVPacket* packet);

  AVStream* stream() const { return stream_; }
  const AVCodec* decoder() const { return decoder_; }
  std::string container() const { return format_->iformat->name; }
  // The pixels' aspect ratio as the container means it for pictures of this size; 0/1 where it says
  // nothing. It is made of a display size and the coded size that the header declares; where that
  // size is not the real one the display shape is what holds.
  AVRational SampleAspect(int width, int height) const;
  // Bytes that the container speaks of are missing. Known in full once Read has said false.
  bool cut() const {
    return read_failed_ || bytes_missing_ || source_->sought_past_end() || findings_->ended_early;
  }

 private:
  Demuxer(ByteInput& input, const Cancel& cancel, LibavFindings* findings,
          ByteSource::Access access);
  // Why reading had to stop: the client, the deadline, the input.
  absl::Status CheckInterrupted() const;
  absl::Status OpenFormat(int64_t max_pixels);
  absl::Status ChooseStream(int64_t max_pixels);
  absl::Status ChooseSound();
  void DiscardOthers();
  // Where the file must end at the earliest, by its index and by the size in an AVI's head.
  absl::StatusOr<int64_t> NamedEnd() const;
  // The container names bytes behind the last one.
  absl::StatusOr<bool> BytesAreMissing() const;

  ByteInput& input_;
  std::optional<PrefixInput> whole_fragments_;  // what libav reads where the last one is cut
  Cancel cancel_;
  LibavFindings* findings_;
  ByteSource::Access access_;
  std::unique_ptr<ByteSource> source_;  // libav keeps its address
  FormatPtr format_;
  AVStream* stream_ = nullptr;  // owned by format_
  const AVCodec* decoder_ = nullptr;
  struct DeclaredSize {
    int width = 0;
    int height = 0;
  };
  std::vector<DeclaredSize> declared_;  // one a stream of the header
  bool read_failed_ = false;
  bool bytes_missing_ = false;
};

// RESOLUTION_LIMIT with the numbers.
absl::Status ResolutionError(int width, int height, int64_t max_pixels);

}  // namespace scanline
