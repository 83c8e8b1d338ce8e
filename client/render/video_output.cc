#include "client/render/video_output.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace scanline::render {
namespace {

constexpr double kSecondsBetweenKeys = 2;  // how exactly a player can jump

absl::Status OutputError(absl::string_view what, int error) {
  const std::string message = absl::StrCat(what, ": ", LibavErrorText(error));
  // What av_err codes of errno are about is the disk.
  if (error == AVERROR(ENOSPC)) return absl::ResourceExhaustedError(message);
  if (error == AVERROR(EIO) || error == AVERROR(EACCES)) return absl::UnavailableError(message);
  return absl::FailedPreconditionError(message);
}

// Quality and speed: what is drawn stays crisp, and two cores encode faster than they decode.
void SetQuality(const std::string& encoder, AVCodecContext* context) {
  if (encoder == "libx264") {
    av_opt_set(context->priv_data, "preset", "veryfast", 0);
    av_opt_set(context->priv_data, "crf", "19", 0);
  } else if (encoder == "libvpx-vp9") {
    context->bit_rate = 0;
    av_opt_set(context->priv_data, "crf", "31", 0);
    av_opt_set(context->priv_data, "deadline", "good", 0);
    av_opt_set(context->priv_data, "cpu-used", "5", 0);
    av_opt_set(context->priv_data, "row-mt", "1", 0);
  }
}

}  // namespace

void FreeOutputFormat::operator()(AVFormatContext* format) const {
  avio_closep(&format->pb);
  avformat_free_context(format);
}

absl::StatusOr<std::string> ChooseVideoEncoder(bool webm, const std::string& asked) {
  std::vector<std::string> names = {"libx264", "libvpx-vp9"};
  if (webm) names = {"libvpx-vp9"};
  if (!asked.empty()) names = {asked};
  for (const std::string& name : names) {
    if (avcodec_find_encoder_by_name(name.c_str()) != nullptr) return name;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("this FFmpeg has no encoder to write the video with: expected ",
                   absl::StrJoin(names, " or ")));
}

absl::StatusOr<std::unique_ptr<VideoOutput>> VideoOutput::Open(const VideoOutputOptions& options,
                                                               const AVFrame& first,
                                                               std::unique_ptr<Sound> sound) {
  std::unique_ptr<VideoOutput> output(new VideoOutput(std::move(sound)));
  output->packet_.reset(av_packet_alloc());
  output->sound_packet_.reset(av_packet_alloc());
  AVFormatContext* format = nullptr;
  avformat_alloc_output_context2(&format, nullptr, options.webm ? "webm" : "mp4", nullptr);
  output->format_.reset(format);
  if (output->packet_ == nullptr || output->sound_packet_ == nullptr || format == nullptr) {
    return OutputError("no memory for the video", AVERROR(ENOMEM));
  }
  SCANLINE_RETURN_IF_ERROR(output->OpenEncoder(options, first));
  SCANLINE_RETURN_IF_ERROR(output->OpenContainer(options));
  return output;
}

absl::Status VideoOutput::OpenEncoder(const VideoOutputOptions& options, const AVFrame& first) {
  const AVCodec* codec = avcodec_find_encoder_by_name(options.encoder.c_str());
  encoder_.reset(codec == nullptr ? nullptr : avcodec_alloc_context3(codec));
  if (encoder_ == nullptr) return OutputError(options.encoder, AVERROR_ENCODER_NOT_FOUND);
  encoder_->width = options.width;
  encoder_->height = options.height;
  encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
  encoder_->sample_aspect_ratio = {1, 1};
  encoder_->time_base = options.time_base;
  encoder_->framerate = options.frame_rate;
  encoder_->gop_size =
      std::max(1, static_cast<int>(std::lround(av_q2d(options.frame_rate) * kSecondsBetweenKeys)));
  encoder_->color_range = AVCOL_RANGE_MPEG;
  encoder_->colorspace = first.colorspace;
  encoder_->color_primaries = first.color_primaries;
  encoder_->color_trc = first.color_trc;
  encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  SetQuality(options.encoder, encoder_.get());
  const int opened = avcodec_open2(encoder_.get(), codec, nullptr);
  if (opened >= 0) return absl::OkStatus();
  return OutputError(absl::StrCat(options.encoder, " does not take pictures of ", options.width,
                                  "x", options.height),
                     opened);
}

absl::Status VideoOutput::OpenContainer(const VideoOutputOptions& options) {
  AVFormatContext* format = format_.get();
  negative_times_ = (format->oformat->flags & AVFMT_TS_NEGATIVE) != 0;
  AVStream* video = avformat_new_stream(format, nullptr);
  if (video == nullptr) return OutputError("no memory for the video", AVERROR(ENOMEM));
  video->time_base = options.time_base;
  video->avg_frame_rate = options.frame_rate;
  int result = avcodec_parameters_from_context(video->codecpar, encoder_.get());
  if (result >= 0 && sound_ != nullptr) {
    AVStream* sound = avformat_new_stream(format, nullptr);
    if (sound == nullptr) return OutputError("no memory for the sound", AVERROR(ENOMEM));
    sound->time_base = sound_->time_base();
    result = avcodec_parameters_copy(sound->codecpar, &sound_->parameters());
    sound->codecpar->codec_tag = 0;  // the output's own
  }
  // "file:": a name with a colon is a name, not a protocol.
  const std::string url = absl::StrCat("file:", options.path);
  if (result >= 0) {
    format->url = av_strdup(url.c_str());
    result = avio_open(&format->pb, url.c_str(), AVIO_FLAG_WRITE);
  }
  AVDictionary* settings = nullptr;
  if (!options.webm) av_dict_set(&settings, "movflags", "faststart", 0);
  if (result >= 0) result = avformat_write_header(format, &settings);
  av_dict_free(&settings);
  return result < 0 ? OutputError("the video file cannot be begun", result) : absl::OkStatus();
}

absl::Status VideoOutput::AddFrame(AVFrame& frame, int64_t pts, int64_t duration) {
  AddSoundUntil(static_cast<double>(pts) * av_q2d(encoder_->time_base));
  durations_[pts] = duration;
  frame.pts = pts;
  frame.pict_type = AV_PICTURE_TYPE_NONE;  // the encoder chooses
  const int sent = avcodec_send_frame(encoder_.get(), &frame);
  if (sent < 0) return OutputError("a picture cannot be encoded", sent);
  return DrainEncoder();
}

absl::Status VideoOutput::DrainEncoder() {
  for (;;) {
    const int result = avcodec_receive_packet(encoder_.get(), packet_.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return absl::OkStatus();
    if (result < 0) return OutputError("a picture cannot be encoded", result);
    const auto duration = durations_.find(packet_->pts);
    if (duration != durations_.end()) {
      packet_->duration = duration->second;
      durations_.erase(duration);
    }
    packet_->stream_index = 0;
    av_packet_rescale_ts(packet_.get(), encoder_->time_base, format_->streams[0]->time_base);
    const int written = av_interleaved_write_frame(format_.get(), packet_.get());
    if (written < 0) return OutputError("the video file cannot be written", written);
  }
}

void VideoOutput::AddSoundUntil(double seconds) {
  while (sound_ != nullptr && sound_status_.ok()) {
    if (!has_sound_packet_) {
      const auto more = sound_->Next(sound_packet_.get());
      if (!more.ok()) sound_status_ = more.status();
      if (!more.ok() || !*more) {
        sound_.reset();
        return;
      }
      has_sound_packet_ = true;
    }
    const double start = static_cast<double>(sound_packet_->pts) * av_q2d(sound_->time_base());
    if (start > seconds) return;
    has_sound_packet_ = false;
    if (start < 0 && !negative_times_) continue;
    sound_packet_->stream_index = 1;
    av_packet_rescale_ts(sound_packet_.get(), sound_->time_base(), format_->streams[1]->time_base);
    const int written = av_interleaved_write_frame(format_.get(), sound_packet_.get());
    if (written < 0) sound_status_ = OutputError("the sound cannot be written", written);
  }
}

absl::Status VideoOutput::Finish() {
  avcodec_send_frame(encoder_.get(), nullptr);
  SCANLINE_RETURN_IF_ERROR(DrainEncoder());
  AddSoundUntil(std::numeric_limits<double>::infinity());
  int result = av_write_trailer(format_.get());
  if (result >= 0 && format_->pb->error < 0) result = format_->pb->error;
  const int closed = avio_closep(&format_->pb);
  if (result >= 0) result = closed;
  return result < 0 ? OutputError("the video file cannot be finished", result) : absl::OkStatus();
}

}  // namespace scanline::render
