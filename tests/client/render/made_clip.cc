#include "tests/client/render/made_clip.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "decode/libav.h"
#include "tests/support/files.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
}

namespace scanline::testing {
namespace {

constexpr int kSampleRate = 44'100;

int Check(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + LibavErrorText(result));
  return result;
}

struct Writer {
  AVFormatContext* format = nullptr;
  PacketPtr packet{av_packet_alloc()};

  ~Writer() {
    if (format == nullptr) return;
    avio_closep(&format->pb);
    avformat_free_context(format);
  }

  void Drain(AVCodecContext* encoder, AVStream* stream) {
    while (avcodec_receive_packet(encoder, packet.get()) >= 0) {
      packet->stream_index = stream->index;
      // Of the last one the muxer knows no other way how long it stays.
      if (packet->duration == 0) packet->duration = 40 * encoder->time_base.den / 1000;
      av_packet_rescale_ts(packet.get(), encoder->time_base, stream->time_base);
      Check(av_interleaved_write_frame(format, packet.get()), "write");
    }
  }
};

CodecPtr OpenVideo(const MadeClip& clip, const AVFormatContext& format) {
  const AVCodec* codec =
      avcodec_find_encoder(clip.container == "matroska" ? AV_CODEC_ID_FFV1 : AV_CODEC_ID_MPEG4);
  CodecPtr encoder(avcodec_alloc_context3(codec));
  encoder->width = clip.width;
  encoder->height = clip.height;
  encoder->pix_fmt = clip.container == "matroska" ? AV_PIX_FMT_YUV444P : AV_PIX_FMT_YUV420P;
  encoder->time_base = {1, 1000};
  encoder->framerate = {25, 1};
  encoder->sample_aspect_ratio = {clip.sample_aspect_num, clip.sample_aspect_den};
  encoder->thread_count = 1;
  encoder->flags |= AV_CODEC_FLAG_QSCALE;
  encoder->global_quality = 2 * FF_QP2LAMBDA;
  if (format.oformat->flags & AVFMT_GLOBALHEADER) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  Check(avcodec_open2(encoder.get(), codec, nullptr), "video encoder");
  return encoder;
}

CodecPtr OpenSound(const MadeClip& clip, const AVFormatContext& format) {
  const AVCodec* codec = avcodec_find_encoder_by_name(clip.sound.c_str());
  CodecPtr encoder(avcodec_alloc_context3(codec));
  encoder->sample_rate = kSampleRate;
  encoder->sample_fmt = codec->sample_fmts[0];
  encoder->time_base = {1, kSampleRate};
  av_channel_layout_default(&encoder->ch_layout, 1);
  if (format.oformat->flags & AVFMT_GLOBALHEADER) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  Check(avcodec_open2(encoder.get(), codec, nullptr), "sound encoder");
  return encoder;
}

// BT.601, limited range: what a reader takes an untagged picture for.
void Paint(const MadeClip& clip, int number, AVFrame* frame) {
  const int shift = frame->format == AV_PIX_FMT_YUV420P ? 1 : 0;
  for (int y = 0; y < clip.height; ++y) {
    for (int x = 0; x < clip.width; ++x) {
      const render::Color c = clip.paint ? clip.paint(number, x, y) : render::Color{128, 128, 128};
      const double luma = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
      const auto put = [&](int plane, int s, double value) {
        frame->data[plane][(y >> s) * frame->linesize[plane] + (x >> s)] =
            static_cast<uint8_t>(std::lround(value));
      };
      put(0, 0, 16 + luma * 219 / 255);
      put(1, shift, 128 + (c.blue - luma) / 1.772 * 224 / 255);
      put(2, shift, 128 + (c.red - luma) / 1.402 * 224 / 255);
    }
  }
}

void WriteVideo(const MadeClip& clip, Writer& writer, AVCodecContext* encoder) {
  for (size_t i = 0; i < clip.times_ms.size(); ++i) {
    const FramePtr frame(av_frame_alloc());
    frame->width = clip.width;
    frame->height = clip.height;
    frame->format = encoder->pix_fmt;
    frame->quality = encoder->global_quality;
    Check(av_frame_get_buffer(frame.get(), 0), "frame");
    Paint(clip, static_cast<int>(i), frame.get());
    frame->pts = clip.times_ms[i];
    Check(avcodec_send_frame(encoder, frame.get()), "send");
    writer.Drain(encoder, writer.format->streams[0]);
  }
  avcodec_send_frame(encoder, nullptr);
  writer.Drain(encoder, writer.format->streams[0]);
}

// A tone of 440 Hz that lasts as long as the pictures.
void WriteSound(const MadeClip& clip, Writer& writer, AVCodecContext* encoder) {
  const int size = encoder->frame_size > 0 ? encoder->frame_size : 1024;
  const int64_t total = (clip.times_ms.back() + 40 - clip.sound_start_ms) * kSampleRate / 1000;
  for (int64_t at = 0; at < total; at += size) {
    const FramePtr frame(av_frame_alloc());
    frame->nb_samples = size;
    frame->format = encoder->sample_fmt;
    frame->sample_rate = kSampleRate;
    av_channel_layout_copy(&frame->ch_layout, &encoder->ch_layout);
    Check(av_frame_get_buffer(frame.get(), 0), "sound frame");
    for (int i = 0; i < size; ++i) {
      const double value =
          0.5 * std::sin(2 * M_PI * 440 * static_cast<double>(at + i) / kSampleRate);
      if (encoder->sample_fmt == AV_SAMPLE_FMT_S16) {
        reinterpret_cast<int16_t*>(frame->data[0])[i] = static_cast<int16_t>(value * 32767);
      } else {
        reinterpret_cast<float*>(frame->data[0])[i] = static_cast<float>(value);
      }
    }
    frame->pts = at + clip.sound_start_ms * kSampleRate / 1000;
    Check(avcodec_send_frame(encoder, frame.get()), "send sound");
    writer.Drain(encoder, writer.format->streams[1]);
  }
  avcodec_send_frame(encoder, nullptr);
  writer.Drain(encoder, writer.format->streams[1]);
}

uint64_t HashOf(const AVPacket& packet) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (int i = 0; i < packet.size; ++i) hash = (hash ^ packet.data[i]) * 0x100000001b3;
  return hash;
}

FormatPtr OpenFile(const std::string& path) {
  AVFormatContext* format = nullptr;
  Check(avformat_open_input(&format, path.c_str(), nullptr, nullptr), path.c_str());
  FormatPtr opened(format);
  Check(avformat_find_stream_info(format, nullptr), path.c_str());
  return opened;
}

}  // namespace

void WriteClip(const std::string& path, const MadeClip& clip) {
  Writer writer;
  Check(avformat_alloc_output_context2(&writer.format, nullptr, clip.container.c_str(), nullptr),
        "container");
  const CodecPtr video = OpenVideo(clip, *writer.format);
  AVStream* stream = avformat_new_stream(writer.format, nullptr);
  stream->time_base = video->time_base;
  stream->sample_aspect_ratio = video->sample_aspect_ratio;
  Check(avcodec_parameters_from_context(stream->codecpar, video.get()), "parameters");
  const auto [a, b, c, d] = clip.matrix;
  auto* matrix = reinterpret_cast<int32_t*>(
      av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t)));
  const int32_t numbers[9] = {a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30};
  std::memcpy(matrix, numbers, sizeof(numbers));
  CodecPtr sound;
  if (!clip.sound.empty()) {
    sound = OpenSound(clip, *writer.format);
    AVStream* second = avformat_new_stream(writer.format, nullptr);
    second->time_base = sound->time_base;
    Check(avcodec_parameters_from_context(second->codecpar, sound.get()), "parameters");
  }
  Check(avio_open(&writer.format->pb, path.c_str(), AVIO_FLAG_WRITE), path.c_str());
  Check(avformat_write_header(writer.format, nullptr), "header");
  WriteVideo(clip, writer, video.get());
  if (sound) WriteSound(clip, writer, sound.get());
  Check(av_write_trailer(writer.format), "trailer");
}

FileFacts InspectFile(const std::string& path) {
  FileFacts facts;
  const FormatPtr format = OpenFile(path);
  const PacketPtr packet(av_packet_alloc());
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    const AVCodecParameters& stream = *format->streams[i]->codecpar;
    const std::string codec = avcodec_get_name(stream.codec_id);
    if (stream.codec_type == AVMEDIA_TYPE_AUDIO) facts.sound_codec = codec;
    if (stream.codec_type != AVMEDIA_TYPE_VIDEO) continue;
    facts.video_codec = codec;
    facts.pixel_format = av_get_pix_fmt_name(static_cast<AVPixelFormat>(stream.format));
    facts.width = stream.width;
    facts.height = stream.height;
    facts.sample_aspect_num = stream.sample_aspect_ratio.num;
  }
  std::vector<std::pair<double, double>> pictures;
  while (av_read_frame(format.get(), packet.get()) >= 0) {
    const AVStream& stream = *format->streams[packet->stream_index];
    const double ticks = av_q2d(stream.time_base);
    const double at = static_cast<double>(packet->pts) * ticks;
    if (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO) {
      pictures.emplace_back(at, static_cast<double>(packet->duration) * ticks);
    } else {
      facts.sound_times.push_back(at);
      facts.sound_hashes.push_back(HashOf(*packet));
    }
    av_packet_unref(packet.get());
  }
  std::sort(pictures.begin(), pictures.end());
  for (const auto& [at, duration] : pictures) facts.picture_times.push_back(at);
  if (!pictures.empty()) facts.last_duration = pictures.back().second;
  return facts;
}

double SoundLevel(const std::string& path) {
  const FormatPtr format = OpenFile(path);
  const AVCodec* codec = nullptr;
  const int index =
      Check(av_find_best_stream(format.get(), AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0), "no sound");
  const CodecPtr decoder(avcodec_alloc_context3(codec));
  avcodec_parameters_to_context(decoder.get(), format->streams[index]->codecpar);
  decoder->request_sample_fmt = AV_SAMPLE_FMT_FLTP;
  Check(avcodec_open2(decoder.get(), codec, nullptr), "sound decoder");
  if (decoder->sample_fmt != AV_SAMPLE_FMT_FLTP) throw std::runtime_error("expected float samples");
  const PacketPtr packet(av_packet_alloc());
  const FramePtr frame(av_frame_alloc());
  double sum = 0;
  int64_t count = 0;
  while (av_read_frame(format.get(), packet.get()) >= 0) {
    if (packet->stream_index == index) avcodec_send_packet(decoder.get(), packet.get());
    av_packet_unref(packet.get());
    while (avcodec_receive_frame(decoder.get(), frame.get()) >= 0) {
      const auto* samples = reinterpret_cast<const float*>(frame->data[0]);
      for (int i = 0; i < frame->nb_samples; ++i) sum += samples[i] * samples[i];
      count += frame->nb_samples;
    }
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

std::vector<std::string> TopBoxes(const std::string& path) {
  const std::vector<uint8_t> bytes = ReadBytes(path);
  std::vector<std::string> names;
  for (size_t at = 0; at + 8 <= bytes.size();) {
    const uint32_t size =
        uint32_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    names.emplace_back(bytes.begin() + at + 4, bytes.begin() + at + 8);
    if (size < 8) break;
    at += size;
  }
  return names;
}

}  // namespace scanline::testing
