#include "decode/color_convert.h"

#include <cstring>

#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

namespace scanline {
namespace {

// swscale's row writers work in whole vectors.
constexpr int kSimdPadding = 64;

// The deprecated formats that say "full range" by their name.
AVPixelFormat WithoutRange(AVPixelFormat format, bool* full_range) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      *full_range = true;
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      *full_range = true;
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      *full_range = true;
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      *full_range = true;
      return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P:
      *full_range = true;
      return AV_PIX_FMT_YUV411P;
    default:
      return format;
  }
}

// Tags come from the bitstream and may hold any number, which a C++ enum must not.
template <typename Enum>
int TagValue(const Enum& tag) {
  int value = 0;
  static_assert(sizeof(value) == sizeof(tag));
  std::memcpy(&value, &tag, sizeof(value));
  return value;
}

const char* FormatName(int format) {
  const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(format));
  return name == nullptr ? "an unknown pixel format" : name;
}

}  // namespace

absl::Status ColorConverter::Rebuild(const Source& source) {
  sws_.reset(sws_alloc_context());
  const auto refuse = [&] {
    sws_.reset();
    return MakeError(Reason::kCodecUnsupported,
                     absl::StrFormat("frames of %s, %dx%d, cannot be turned into RGB",
                                     FormatName(source.format), source.width, source.height));
  };
  if (sws_ == nullptr) return refuse();
  SwsContext* sws = sws_.get();
  av_opt_set_int(sws, "srcw", source.width, 0);
  av_opt_set_int(sws, "srch", source.height, 0);
  av_opt_set_int(sws, "src_format", source.format, 0);
  av_opt_set_int(sws, "dstw", source.width, 0);
  av_opt_set_int(sws, "dsth", source.height, 0);
  av_opt_set_int(sws, "dst_format", AV_PIX_FMT_RGB24, 0);
  av_opt_set_int(sws, "sws_flags", SWS_BICUBIC, 0);
  // 4:2:0 chroma lies between two rows (MPEG-2), which matters for odd heights.
  if (source.format == AV_PIX_FMT_YUV420P) av_opt_set_int(sws, "src_v_chr_pos", 128, 0);
  if (sws_init_context(sws, nullptr, nullptr) < 0) return refuse();
  // Formats without a matrix (RGB, grey) refuse the details and need none.
  sws_setColorspaceDetails(sws, sws_getCoefficients(source.colorspace), source.full_range,
                           sws_getCoefficients(SWS_CS_DEFAULT), /*dstRange=*/0, 0, 1 << 16,
                           1 << 16);
  source_ = source;
  return absl::OkStatus();
}

absl::Status ColorConverter::Convert(const AVFrame& frame, RgbImage& out) {
  if (frame.width <= 0 || frame.height <= 0 || frame.data[0] == nullptr) {
    return MakeError(Reason::kVideoCorrupt, "the decoder gave a frame without a picture");
  }
  Source source{frame.width, frame.height, frame.format, TagValue(frame.colorspace),
                TagValue(frame.color_range) == AVCOL_RANGE_JPEG};
  source.format = WithoutRange(static_cast<AVPixelFormat>(frame.format), &source.full_range);
  if (sws_ == nullptr || source != source_) SCANLINE_RETURN_IF_ERROR(Rebuild(source));

  ShapeImage(out, frame.width, frame.height, kSimdPadding);
  uint8_t* planes[4] = {out.bytes.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(out.stride), 0, 0, 0};
  if (sws_scale(sws_.get(), frame.data, frame.linesize, 0, frame.height, planes, strides) < 0) {
    return MakeError(Reason::kCodecUnsupported,
                     absl::StrFormat("frames of %s, %dx%d, cannot be turned into RGB",
                                     FormatName(frame.format), frame.width, frame.height));
  }
  return absl::OkStatus();
}

}  // namespace scanline
