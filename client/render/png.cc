#include "client/render/png.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/render/ass_script.h"
#include "client/render/atomic_file.h"
#include "client/render/picture_filter.h"
#include "decode/libav_log.h"

namespace scanline::render {
namespace {

absl::StatusOr<FramePtr> ToFrame(const RgbView& picture) {
  FramePtr frame(av_frame_alloc());
  if (frame != nullptr) {
    frame->width = picture.width;
    frame->height = picture.height;
    frame->format = AV_PIX_FMT_RGB24;
  }
  if (frame == nullptr || av_frame_get_buffer(frame.get(), 0) < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a picture of ", picture.width, "x", picture.height, " pixels"));
  }
  for (int y = 0; y < picture.height; ++y) {
    std::memcpy(frame->data[0] + ptrdiff_t{y} * frame->linesize[0], picture.row(y),
                static_cast<size_t>(picture.width) * 3);
  }
  return frame;
}

absl::StatusOr<PacketPtr> EncodePng(const AVFrame& frame) {
  const auto fail = [](int error) {
    return absl::InternalError(absl::StrCat("cannot encode a PNG: ", LibavErrorText(error)));
  };
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  const CodecPtr encoder(avcodec_alloc_context3(codec));
  PacketPtr packet(av_packet_alloc());
  if (codec == nullptr || encoder == nullptr || packet == nullptr) {
    return fail(AVERROR_ENCODER_NOT_FOUND);
  }
  encoder->width = frame.width;
  encoder->height = frame.height;
  encoder->pix_fmt = AV_PIX_FMT_RGB24;
  encoder->time_base = {1, 1};
  encoder->thread_count = 1;
  int result = avcodec_open2(encoder.get(), codec, nullptr);
  if (result >= 0) result = avcodec_send_frame(encoder.get(), &frame);
  if (result >= 0) result = avcodec_send_frame(encoder.get(), nullptr);
  if (result >= 0) result = avcodec_receive_packet(encoder.get(), packet.get());
  if (result < 0) return fail(result);
  return packet;
}

absl::StatusOr<RgbImage> Filter(const RgbView& picture, int width, int height, std::string ass) {
  LibavFindings findings;
  const LibavScope scope(&findings);
  PictureFilterOptions options;
  options.width = width;
  options.height = height;
  options.format = AV_PIX_FMT_RGB24;
  options.ass = std::move(ass);
  SCANLINE_ASSIGN_OR_RETURN(PictureFilter filter, PictureFilter::Make(options));
  SCANLINE_ASSIGN_OR_RETURN(const FramePtr frame, ToFrame(picture));
  WantedFrame wanted;
  wanted.frame = frame.get();
  SCANLINE_ASSIGN_OR_RETURN(const FramePtr drawn, filter.Run(wanted, 0));
  RgbImage result;
  ShapeImage(result, width, height);
  for (int y = 0; y < height; ++y) {
    std::memcpy(result.row(y), drawn->data[0] + ptrdiff_t{y} * drawn->linesize[0],
                static_cast<size_t>(width) * 3);
  }
  return result;
}

}  // namespace

absl::Status DrawScript(absl::string_view ass, RgbImage& picture) {
  SCANLINE_ASSIGN_OR_RETURN(
      picture, Filter(picture.view(), picture.width, picture.height, std::string(ass)));
  return absl::OkStatus();
}

absl::StatusOr<RgbImage> Resize(const RgbView& picture, int width, int height) {
  return Filter(picture, width, height, /*ass=*/"");
}

absl::Status CheckFonts() {
  RgbImage picture;
  ShapeImage(picture, 64, 64);
  AssScript script(picture.width, picture.height);
  AssScript::Text style;
  style.size = 48;
  script.Write(style, {"M"});
  SCANLINE_RETURN_IF_ERROR(DrawScript(script.Finish(), picture));
  const bool drawn = std::any_of(picture.bytes.begin(), picture.bytes.end(),
                                 [](uint8_t value) { return value != 0; });
  if (drawn) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "no font was found to draw labels with; install one, e.g. "
      "apt-get install fonts-dejavu-core");
}

absl::Status WritePng(const std::string& path, const RgbView& picture) {
  LibavFindings findings;
  const LibavScope scope(&findings);
  SCANLINE_ASSIGN_OR_RETURN(const FramePtr frame, ToFrame(picture));
  SCANLINE_ASSIGN_OR_RETURN(const PacketPtr packet, EncodePng(*frame));
  return WriteFileWhole(
      path, {reinterpret_cast<const char*>(packet->data), static_cast<size_t>(packet->size)});
}

}  // namespace scanline::render
