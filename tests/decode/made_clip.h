#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include <libavformat/avformat.h>
#include <libavutil/display.h>
}

namespace scanline::testing {

// A QuickTime file of raw RGB frames, written in memory by libavformat.
struct MadeClip {
  int width = 0;  // as stored
  int height = 0;
  int frames = 1;
  int rate = 30;  // frames a second
  std::array<int, 2> sample_aspect = {1, 1};
  std::array<int, 4> turn = {1, 0, 0, 1};  // a, b, c, d: (x, y) is shown at (a x + c y, b x + d y)
  // Fills [height][width][3] of frame i, black before.
  std::function<void(int, uint8_t*)> draw;
};

inline std::string WriteMadeClip(const MadeClip& clip) {
  const auto check = [](int result) {
    if (result < 0) throw std::runtime_error("libavformat cannot write the made clip");
  };
  AVFormatContext* context = nullptr;
  check(avformat_alloc_output_context2(&context, nullptr, "mov", nullptr));
  check(avio_open_dyn_buf(&context->pb));
  AVStream* stream = avformat_new_stream(context, nullptr);
  stream->time_base = {1, clip.rate};
  stream->avg_frame_rate = {clip.rate, 1};
  stream->sample_aspect_ratio = {clip.sample_aspect[0], clip.sample_aspect[1]};
  AVCodecParameters& codec = *stream->codecpar;
  codec.codec_type = AVMEDIA_TYPE_VIDEO;
  codec.codec_id = AV_CODEC_ID_RAWVIDEO;
  codec.format = AV_PIX_FMT_RGB24;
  codec.width = clip.width;
  codec.height = clip.height;
  codec.bits_per_coded_sample = 24;
  codec.sample_aspect_ratio = stream->sample_aspect_ratio;
  auto* matrix = reinterpret_cast<int32_t*>(
      av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t)));
  constexpr int32_t kOne = 1 << 16;
  const auto [a, b, c, d] = clip.turn;
  const int32_t values[] = {a * kOne, b * kOne, 0, c * kOne, d * kOne, 0, 0, 0, 1 << 30};
  std::copy(std::begin(values), std::end(values), matrix);
  check(avformat_write_header(context, nullptr));
  AVPacket* packet = av_packet_alloc();
  for (int i = 0; i < clip.frames; ++i) {
    std::vector<uint8_t> pixels(static_cast<size_t>(clip.width) * clip.height * 3);
    clip.draw(i, pixels.data());
    check(av_new_packet(packet, static_cast<int>(pixels.size())));
    std::copy(pixels.begin(), pixels.end(), packet->data);
    packet->flags = AV_PKT_FLAG_KEY;
    packet->pts = packet->dts = av_rescale_q(i, {1, clip.rate}, stream->time_base);
    packet->duration = av_rescale_q(1, {1, clip.rate}, stream->time_base);
    check(av_write_frame(context, packet));
    av_packet_unref(packet);
  }
  av_packet_free(&packet);
  check(av_write_trailer(context));
  uint8_t* bytes = nullptr;
  const int size = avio_close_dyn_buf(context->pb, &bytes);
  context->pb = nullptr;
  std::string file(reinterpret_cast<char*>(bytes), size);
  av_free(bytes);
  avformat_free_context(context);
  return file;
}

}  // namespace scanline::testing
