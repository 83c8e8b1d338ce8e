#include "client/render/sound.h"

#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/render/picture_filter.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
}

namespace scanline::render {
namespace {

constexpr int kSampleRate = 48'000;
constexpr int64_t kBitsPerChannel = 80'000;

absl::Status SoundError(absl::string_view what, int error) {
  return absl::FailedPreconditionError(absl::StrCat(what, ": ", LibavErrorText(error)));
}

double Seconds(int64_t ticks, AVRational time_base) {
  return static_cast<double>(ticks) * av_q2d(time_base);
}

class CopiedSound final : public Sound {
 public:
  CopiedSound(std::unique_ptr<Demuxer> demuxer, const SoundSpan& span)
      : demuxer_(std::move(demuxer)), span_(span) {}

  const AVCodecParameters& parameters() const override { return *demuxer_->stream()->codecpar; }
  AVRational time_base() const override { return demuxer_->stream()->time_base; }

  absl::StatusOr<bool> Next(AVPacket* packet) override {
    for (;;) {
      SCANLINE_ASSIGN_OR_RETURN(const bool more, demuxer_->Read(packet));
      if (!more) return false;
      if (packet->pts == AV_NOPTS_VALUE) packet->pts = packet->dts;
      if (packet->pts == AV_NOPTS_VALUE || (packet->flags & AV_PKT_FLAG_DISCARD)) continue;
      const double start = Seconds(packet->pts, time_base());
      if (start + Seconds(packet->duration, time_base()) <= span_.start) continue;
      // Hostile timestamps: what goes back or repeats cannot be written.
      if (last_pts_ != AV_NOPTS_VALUE && packet->pts <= last_pts_) continue;
      if (start >= span_.end) return false;
      last_pts_ = packet->pts;
      const double zero = std::round(span_.start / av_q2d(time_base()));
      packet->pts -= static_cast<int64_t>(zero);
      packet->dts = packet->pts;
      packet->pos = -1;
      return true;
    }
  }

 private:
  std::unique_ptr<Demuxer> demuxer_;
  SoundSpan span_;
  int64_t last_pts_ = AV_NOPTS_VALUE;
};

class TranscodedSound final : public Sound {
 public:
  TranscodedSound(std::unique_ptr<Demuxer> demuxer, const SoundSpan& span)
      : demuxer_(std::move(demuxer)),
        span_(span),
        packet_(av_packet_alloc()),
        frame_(av_frame_alloc()),
        parameters_(avcodec_parameters_alloc()) {}
  ~TranscodedSound() override { avcodec_parameters_free(&parameters_); }

  absl::Status Open(const std::string& encoder_name) {
    const AVStream& stream = *demuxer_->stream();
    if (demuxer_->decoder() == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no decoder for ", avcodec_get_name(stream.codecpar->codec_id)));
    }
    decoder_.reset(avcodec_alloc_context3(demuxer_->decoder()));
    if (decoder_ == nullptr || packet_ == nullptr || frame_ == nullptr || parameters_ == nullptr) {
      return SoundError("no memory for sound", AVERROR(ENOMEM));
    }
    int result = avcodec_parameters_to_context(decoder_.get(), stream.codecpar);
    decoder_->thread_count = 1;
    decoder_->pkt_timebase = stream.time_base;
    if (result >= 0) result = avcodec_open2(decoder_.get(), demuxer_->decoder(), nullptr);
    if (result < 0) return SoundError("the sound cannot be decoded", result);

    const AVCodec* codec = avcodec_find_encoder_by_name(encoder_name.c_str());
    if (codec == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("this FFmpeg has no encoder ", encoder_name));
    }
    encoder_.reset(avcodec_alloc_context3(codec));
    if (encoder_ == nullptr) return SoundError("no memory for sound", AVERROR(ENOMEM));
    const int channels = stream.codecpar->ch_layout.nb_channels == 1 ? 1 : 2;
    av_channel_layout_default(&encoder_->ch_layout, channels);
    encoder_->sample_rate = kSampleRate;
    encoder_->sample_fmt =
        codec->sample_fmts != nullptr ? codec->sample_fmts[0] : AV_SAMPLE_FMT_FLTP;
    encoder_->bit_rate = kBitsPerChannel * channels;
    encoder_->time_base = {1, kSampleRate};
    encoder_->thread_count = 1;
    encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    result = avcodec_open2(encoder_.get(), codec, nullptr);
    if (result >= 0) result = avcodec_parameters_from_context(parameters_, encoder_.get());
    if (result < 0) return SoundError("the sound cannot be encoded", result);
    return absl::OkStatus();
  }

  const AVCodecParameters& parameters() const override { return *parameters_; }
  AVRational time_base() const override { return encoder_->time_base; }

  absl::StatusOr<bool> Next(AVPacket* packet) override {
    for (;;) {
      const int result = avcodec_receive_packet(encoder_.get(), packet);
      if (result >= 0) return true;
      if (result == AVERROR_EOF) return false;
      if (result != AVERROR(EAGAIN)) return SoundError("the sound cannot be encoded", result);
      SCANLINE_RETURN_IF_ERROR(FeedEncoder());
    }
  }

 private:
  // The input's packets up to a frame for the encoder, or to the end.
  absl::Status FeedEncoder() {
    for (;;) {
      if (graph_ != nullptr) {
        const int result = av_buffersink_get_frame(out_, frame_.get());
        if (result >= 0) {
          frame_->pict_type = AV_PICTURE_TYPE_NONE;
          const int sent = avcodec_send_frame(encoder_.get(), frame_.get());
          av_frame_unref(frame_.get());
          return sent < 0 ? SoundError("the sound cannot be encoded", sent) : absl::OkStatus();
        }
        if (result != AVERROR(EAGAIN) && result != AVERROR_EOF) {
          return SoundError("the sound cannot be converted", result);
        }
      }
      if (finished_) {
        avcodec_send_frame(encoder_.get(), nullptr);
        return absl::OkStatus();
      }
      SCANLINE_RETURN_IF_ERROR(FeedFilter());
    }
  }

  absl::Status FeedFilter() {
    const int result = avcodec_receive_frame(decoder_.get(), frame_.get());
    if (result >= 0) return FilterFrame();
    av_frame_unref(frame_.get());
    if (result == AVERROR_EOF) return FinishFilter();
    if (drained_) return absl::OkStatus();
    SCANLINE_ASSIGN_OR_RETURN(const bool more, demuxer_->Read(packet_.get()));
    drained_ = !more;
    // A damaged packet is silence, which the filter fills in.
    avcodec_send_packet(decoder_.get(), more ? packet_.get() : nullptr);
    return absl::OkStatus();
  }

  absl::Status FilterFrame() {
    const AVRational ticks = demuxer_->stream()->time_base;
    const int64_t stamp = frame_->best_effort_timestamp;
    if (stamp != AV_NOPTS_VALUE) {
      const double start = Seconds(stamp, ticks);
      const double length =
          static_cast<double>(frame_->nb_samples) / std::max(1, frame_->sample_rate);
      if (start + length <= span_.start) {
        av_frame_unref(frame_.get());
        return absl::OkStatus();
      }
      // Before a leap in time would be filled with silence.
      if (start >= span_.end) return FinishFilter();
      frame_->pts = std::llround((start - span_.start) * kSampleRate);
    } else {
      frame_->pts = AV_NOPTS_VALUE;
    }
    if (graph_ == nullptr || !SameFormat()) SCANLINE_RETURN_IF_ERROR(BuildFilter());
    const int result = av_buffersrc_add_frame(in_, frame_.get());
    av_frame_unref(frame_.get());
    return result < 0 ? SoundError("the sound cannot be converted", result) : absl::OkStatus();
  }

  bool SameFormat() const {
    return format_ == frame_->format && rate_ == frame_->sample_rate &&
           channels_ == frame_->ch_layout.nb_channels;
  }

  absl::Status FinishFilter() {
    finished_ = true;
    const int result = graph_ == nullptr ? 0 : av_buffersrc_add_frame(in_, nullptr);
    return result < 0 ? SoundError("the sound cannot be converted", result) : absl::OkStatus();
  }

  absl::Status BuildFilter() {
    format_ = frame_->format;
    rate_ = frame_->sample_rate;
    channels_ = frame_->ch_layout.nb_channels;
    if (rate_ < 1 || channels_ < 1) {
      return SoundError("the sound has no sample rate or no channel", AVERROR_INVALIDDATA);
    }
    graph_.reset(avfilter_graph_alloc());
    if (graph_ == nullptr) return SoundError("no memory for sound", AVERROR(ENOMEM));
    graph_->nb_threads = 1;
    char layout[64] = {};
    AVChannelLayout known = {};
    av_channel_layout_default(&known, channels_);
    const bool named = frame_->ch_layout.order == AV_CHANNEL_ORDER_NATIVE;
    av_channel_layout_describe(named ? &frame_->ch_layout : &known, layout, sizeof(layout));
    // aresample keeps the sound in step with its timestamps, from time 0 on.
    const std::string chain = absl::StrFormat(
        "abuffer=time_base=1/%d:sample_rate=%d:sample_fmt=%d:channel_layout=%s,"
        "aresample=%d:async=1:first_pts=0,aformat=sample_fmts=%s:sample_rates=%d:channel_layouts=%"
        "s,"
        "abuffersink",
        kSampleRate, rate_, format_, layout, kSampleRate,
        av_get_sample_fmt_name(encoder_->sample_fmt), kSampleRate,
        encoder_->ch_layout.nb_channels == 1 ? "mono" : "stereo");
    AVFilterInOut *inputs = nullptr, *outputs = nullptr;
    int result = avfilter_graph_parse2(graph_.get(), chain.c_str(), &inputs, &outputs);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    if (result >= 0) result = avfilter_graph_config(graph_.get(), nullptr);
    if (result < 0) return SoundError("the sound cannot be converted", result);
    in_ = graph_->filters[0];
    for (unsigned i = 0; i < graph_->nb_filters; ++i) {
      if (absl::string_view(graph_->filters[i]->filter->name) == "abuffersink") {
        out_ = graph_->filters[i];
      }
    }
    if (encoder_->frame_size > 0) av_buffersink_set_frame_size(out_, encoder_->frame_size);
    return absl::OkStatus();
  }

  std::unique_ptr<Demuxer> demuxer_;
  SoundSpan span_;
  PacketPtr packet_;
  FramePtr frame_;
  AVCodecParameters* parameters_;
  CodecPtr decoder_;
  CodecPtr encoder_;
  std::unique_ptr<AVFilterGraph, FreeFilterGraph> graph_;
  AVFilterContext* in_ = nullptr;  // owned by graph_
  AVFilterContext* out_ = nullptr;
  int format_ = -1;
  int rate_ = 0;
  int channels_ = 0;
  bool drained_ = false;   // the decoder knows that no packet follows
  bool finished_ = false;  // the filter knows that no frame follows
};

}  // namespace

std::unique_ptr<Sound> CopySound(std::unique_ptr<Demuxer> demuxer, const SoundSpan& span) {
  return std::make_unique<CopiedSound>(std::move(demuxer), span);
}

absl::StatusOr<std::unique_ptr<Sound>> TranscodeSound(std::unique_ptr<Demuxer> demuxer,
                                                      const SoundSpan& span,
                                                      const std::string& encoder) {
  auto sound = std::make_unique<TranscodedSound>(std::move(demuxer), span);
  SCANLINE_RETURN_IF_ERROR(sound->Open(encoder));
  return sound;
}

}  // namespace scanline::render
