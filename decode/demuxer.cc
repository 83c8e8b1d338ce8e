#include "decode/demuxer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "decode/mp4_boxes.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace scanline {
namespace {

// Containers of video, of sound (so that they are answered with "no video") and of pictures. No
// playlist, no capture device, no format that names other files, nothing that is chosen by a name.
constexpr char kContainers[] =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,live_flv,ogg,asf,ivf,obu,"
    "av1,h264,hevc,m4v,h263,h261,vc1,mjpeg,mjpeg_2000,yuv4mpegpipe,gif,apng,mxf,nut,rm,wtv,dv,swf,"
    "dirac,film_cpk,roq,smk,bink,nuv,gxf,cavsvideo,png_pipe,jpeg_pipe,webp_pipe,bmp_pipe,tiff_pipe,"
    "mp3,aac,flac,wav,w64,ac3,eac3,dts,amr,aiff,au,caf,ape,tta,wv,ffmetadata,srt,webvtt,ass";

// A demuxer that asks to be called again this often without a packet does not move.
constexpr int kMaxRetries = 100'000;

int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

// The container's list of streams is missing, or ends before it says what a stream holds.
// (ffmetadata never has one.)
bool ListIsIncomplete(const AVFormatContext& format) {
  if (format.nb_streams == 0) return absl::string_view(format.iformat->name) != "ffmetadata";
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVCodecParameters& stream = *format.streams[i]->codecpar;
    if (stream.codec_id == AV_CODEC_ID_NONE && stream.codec_tag == 0) return true;
  }
  return false;
}

// What the video streams hold: the codec's name where libav knows it, else the container's tag.
std::string VideoCodecs(const AVFormatContext& format) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVCodecParameters& stream = *format.streams[i]->codecpar;
    if (stream.codec_type != AVMEDIA_TYPE_VIDEO) continue;
    char tag[AV_FOURCC_MAX_STRING_SIZE] = {};
    names.emplace_back(stream.codec_id != AV_CODEC_ID_NONE
                           ? avcodec_get_name(stream.codec_id)
                           : av_fourcc_make_string(tag, stream.codec_tag));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

absl::Status ResolutionError(int width, int height, int64_t max_pixels) {
  return MakeError(
      Reason::kResolutionLimit,
      absl::StrFormat("the video's pictures are %dx%d; at most %d pixels are taken", width, height,
                      max_pixels),
      {{"limit", absl::StrCat(max_pixels)}, {"actual", absl::StrCat(int64_t{width} * height)}});
}

Demuxer::Demuxer(ByteInput& input, const Cancel& cancel, LibavFindings* findings,
                 ByteSource::Access access)
    : input_(input),
      cancel_(cancel),
      findings_(findings),
      access_(access),
      source_(std::make_unique<ByteSource>(input, cancel, access)),
      format_(avformat_alloc_context()) {}

absl::StatusOr<std::unique_ptr<Demuxer>> Demuxer::Open(ByteInput& input, int64_t max_pixels,
                                                       const Cancel& cancel,
                                                       LibavFindings* findings,
                                                       ByteSource::Access access) {
  std::unique_ptr<Demuxer> demuxer(new Demuxer(input, cancel, findings, access));
  SCANLINE_RETURN_IF_ERROR(demuxer->OpenFormat(max_pixels));
  SCANLINE_RETURN_IF_ERROR(demuxer->ChooseStream(max_pixels));
  return demuxer;
}

absl::StatusOr<std::unique_ptr<Demuxer>> Demuxer::OpenSound(ByteInput& input, int64_t max_pixels,
                                                            const Cancel& cancel,
                                                            LibavFindings* findings) {
  std::unique_ptr<Demuxer> demuxer(
      new Demuxer(input, cancel, findings, ByteSource::Access::kAnywhere));
  SCANLINE_RETURN_IF_ERROR(demuxer->OpenFormat(max_pixels));
  SCANLINE_RETURN_IF_ERROR(demuxer->ChooseSound());
  return demuxer;
}

absl::Status Demuxer::CheckInterrupted() const {
  SCANLINE_RETURN_IF_ERROR(source_->failure());
  return cancel_.Check(Reason::kExpiredInDecode);
}

absl::Status Demuxer::OpenFormat(int64_t max_pixels) {
  AVFormatContext* format = format_.release();  // avformat_open_input frees it where it fails
  format->pb = source_->avio();
  format->io_open = RefuseToOpen;
  av_opt_set(format, "format_whitelist", kContainers, 0);
  av_opt_set(format, "protocol_whitelist", "", 0);
  const int opened = avformat_open_input(&format, nullptr, nullptr, nullptr);
  format_.reset(format);
  SCANLINE_RETURN_IF_ERROR(CheckInterrupted());
  if (opened < 0 && !whole_fragments_ && access_ == ByteSource::Access::kAnywhere) {
    // libav refuses the whole file where the description of its last fragment is cut.
    SCANLINE_ASSIGN_OR_RETURN(const auto cut, FindCutFragment(input_, cancel_));
    if (cut) {
      whole_fragments_.emplace(input_, *cut);
      source_ = std::make_unique<ByteSource>(*whole_fragments_, cancel_, access_);
      format_.reset(avformat_alloc_context());
      return OpenFormat(max_pixels);
    }
  }
  if (opened < 0 && findings_->refused_width != 0) {
    return ResolutionError(findings_->refused_width, findings_->refused_height, max_pixels);
  }
  if (opened < 0) {
    return MakeError(Reason::kVideoUnreadable,
                     "expected a video file (mp4, mkv, webm, avi, mpeg-ts, ...); "
                     "these bytes are none that can be read");
  }

  for (unsigned i = 0; i < format_->nb_streams; ++i) {  // the probe replaces these by the real ones
    declared_.push_back(
        {format_->streams[i]->codecpar->width, format_->streams[i]->codecpar->height});
  }
  // The probe opens decoders too: they get the same limits.
  std::vector<AVDictionary*> options(format_->nb_streams, nullptr);
  for (AVDictionary*& option : options) {
    av_dict_set_int(&option, "max_pixels", max_pixels, 0);
    av_dict_set(&option, "threads", "1", 0);
  }
  const int probed = avformat_find_stream_info(format_.get(), options.data());
  for (AVDictionary*& option : options) av_dict_free(&option);
  SCANLINE_RETURN_IF_ERROR(CheckInterrupted());
  if (probed < 0) {
    return MakeError(
        Reason::kVideoUnreadable,
        absl::StrFormat("the streams of the %s file cannot be read", format_->iformat->name));
  }
  return absl::OkStatus();
}

absl::Status Demuxer::ChooseStream(int64_t max_pixels) {
  AVFormatContext* format = format_.get();
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (format->streams[i]->disposition & AV_DISPOSITION_ATTACHED_PIC) {
      format->streams[i]->codecpar->codec_type = AVMEDIA_TYPE_ATTACHMENT;
    }
  }
  const int best = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder_, /*flags=*/0);
  if (best == AVERROR_STREAM_NOT_FOUND) {
    if (cut() || ListIsIncomplete(*format)) {
      return MakeError(Reason::kVideoUnreadable,
                       "the file ends before its video begins; send the whole file");
    }
    return MakeError(Reason::kNoVideoStream,
                     absl::StrFormat("the %s file has no video stream", format->iformat->name));
  }
  if (best < 0) {
    const std::string codec = VideoCodecs(*format);
    return MakeError(
        Reason::kCodecUnsupported,
        absl::StrFormat("there is no decoder for the video in this %s file: expected a "
                        "codec such as h264, hevc, vp9 or av1, found %s",
                        format->iformat->name, codec),
        {{"codec", codec}});
  }
  stream_ = format->streams[best];
  DiscardOthers();
  const AVCodecParameters& video = *stream_->codecpar;
  if (int64_t{video.width} * video.height > max_pixels) {
    return ResolutionError(video.width, video.height, max_pixels);
  }
  // Every attempt of the probe was refused.
  if (video.width == 0 && findings_->refused_width != 0) {
    return ResolutionError(findings_->refused_width, findings_->refused_height, max_pixels);
  }
  return absl::OkStatus();
}

absl::Status Demuxer::ChooseSound() {
  const int best =
      av_find_best_stream(format_.get(), AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, /*flags=*/0);
  if (best < 0) return absl::NotFoundError("the file has no sound");
  stream_ = format_->streams[best];
  decoder_ = avcodec_find_decoder(stream_->codecpar->codec_id);
  DiscardOthers();
  return absl::OkStatus();
}

void Demuxer::DiscardOthers() {
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (format_->streams[i] != stream_) format_->streams[i]->discard = AVDISCARD_ALL;
  }
}

AVRational Demuxer::SampleAspect(int width, int height) const {
  const AVRational said = stream_->sample_aspect_ratio;
  const auto index = static_cast<size_t>(stream_->index);
  if (said.num <= 0 || said.den <= 0 || index >= declared_.size()) return said;
  const DeclaredSize& declared = declared_[index];
  if (declared.width <= 0 || declared.height <= 0) return said;
  // said * (declared shape) / (real shape)
  const AVRational shape = {declared.width, declared.height};
  return av_mul_q(said, av_div_q(shape, {width, height}));
}

absl::StatusOr<int64_t> Demuxer::NamedEnd() const {
  constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (int i = 0; i < avformat_index_get_entries_count(stream_); ++i) {
    const AVIndexEntry& entry = *avformat_index_get_entry(stream_, i);
    if (entry.pos < 0 || entry.size < 0) continue;
    end = std::max(end, entry.pos <= kFarthest - entry.size ? entry.pos + entry.size : kFarthest);
  }
  if (container() != "avi") return end;
  // "RIFF" and the bytes that follow. Who cannot go back to write them leaves none or all bits; the
  // byte that fills up to an even number may be missing.
  std::array<uint8_t, 8> head = {};
  SCANLINE_ASSIGN_OR_RETURN(const int64_t read, input_.Read(0, head.data(), head.size()));
  const uint32_t size = head[4] | head[5] << 8 | head[6] << 16 | uint32_t{head[7]} << 24;
  const bool known = read == 8 && size != 0 && size != 0xFFFF'FFFF;
  return known ? std::max(end, int64_t{size} + 7) : end;
}

absl::StatusOr<bool> Demuxer::BytesAreMissing() const {
  if (whole_fragments_) return true;
  SCANLINE_ASSIGN_OR_RETURN(const int64_t end, NamedEnd());
  SCANLINE_ASSIGN_OR_RETURN(const bool reached, input_.Reaches(end));
  if (!reached) return true;
  if (!absl::StrContains(container(), "mp4")) return false;
  SCANLINE_ASSIGN_OR_RETURN(const auto cut, FindCutFragment(input_, cancel_));
  return cut.has_value();
}

absl::StatusOr<bool> Demuxer::Read(AVPacket* packet) {
  for (int retries = 0; retries < kMaxRetries;) {
    SCANLINE_RETURN_IF_ERROR(CheckInterrupted());
    av_packet_unref(packet);
    const int read = av_read_frame(format_.get(), packet);
    if (read == AVERROR(EAGAIN)) {
      ++retries;
      continue;
    }
    if (read < 0) {
      SCANLINE_RETURN_IF_ERROR(CheckInterrupted());
      read_failed_ = read != AVERROR_EOF;
      // libav takes a cut between two frames for the end.
      SCANLINE_ASSIGN_OR_RETURN(bytes_missing_, BytesAreMissing());
      return false;
    }
    if (packet->stream_index != stream_->index) continue;
    // Nothing was recorded here (a dropped frame in AVI); to a decoder it would mean the end.
    if (packet->size > 0) return true;
    ++retries;
  }
  read_failed_ = true;
  return false;
}

}  // namespace scanline
