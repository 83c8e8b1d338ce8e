#include "client/render/picture_filter.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "decode/demuxer.h"
#include "decode/picture.h"

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/pixdesc.h>
}

namespace scanline::render {
namespace {

constexpr int kTicksPerSecond = 1000;  // what libass counts in

struct FreeFilterInOut {
  void operator()(AVFilterInOut* ends) const { avfilter_inout_free(&ends); }
};
using FilterEnds = std::unique_ptr<AVFilterInOut, FreeFilterInOut>;

bool IsRgb(int format) {
  const AVPixFmtDescriptor* description = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
  return description != nullptr &&
         (description->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) != 0;
}

// A tag comes from the bitstream and may hold any number, which a C++ enum must not.
int ColorspaceOf(const AVFrame& frame) {
  int value = 0;
  static_assert(sizeof(value) == sizeof(frame.colorspace));
  std::memcpy(&value, &frame.colorspace, sizeof(value));
  return value;
}

absl::Status FilterError(int error) {
  return MakeError(
      Reason::kCodecUnsupported,
      absl::StrCat("the video's pictures cannot be drawn on: ", LibavErrorText(error)));
}

}  // namespace

void FreeFilterGraph::operator()(AVFilterGraph* graph) const { avfilter_graph_free(&graph); }

absl::StatusOr<PictureFilter> PictureFilter::Make(const PictureFilterOptions& options) {
  if (!options.ass.empty() && avfilter_get_by_name("ass") == nullptr) {
    return absl::FailedPreconditionError(
        "this FFmpeg cannot draw text: its libavfilter was built without libass");
  }
  SCANLINE_ASSIGN_OR_RETURN(MemoryFile script, MemoryFile::Make(options.ass));
  return PictureFilter(options, std::move(script));
}

absl::Status PictureFilter::Rebuild(const Source& source) {
  graph_.reset(avfilter_graph_alloc());
  if (graph_ == nullptr) return FilterError(AVERROR(ENOMEM));
  graph_->nb_threads = 1;
  std::string chain =
      absl::StrFormat("buffer=video_size=%dx%d:pix_fmt=%d:time_base=1/%d:pixel_aspect=1/1",
                      source.width, source.height, source.format, kTicksPerSecond);
  if (source.orientation.transpose) chain += ",transpose=cclock_flip";  // the plain transposition
  if (source.orientation.flip_x) chain += ",hflip";
  if (source.orientation.flip_y) chain += ",vflip";
  absl::StrAppend(&chain, ",scale=", options_.width, ":", options_.height, ":flags=bicubic");
  if (!IsRgb(options_.format)) {
    absl::StrAppend(&chain, ":out_range=tv");
    if (IsRgb(source.format)) absl::StrAppend(&chain, ":out_color_matrix=bt709");
  }
  absl::StrAppend(&chain, ",format=", av_get_pix_fmt_name(options_.format));
  if (!options_.ass.empty()) absl::StrAppend(&chain, ",ass=filename=", script_.path());
  absl::StrAppend(&chain, ",buffersink");

  AVFilterInOut *inputs = nullptr, *outputs = nullptr;
  int result = avfilter_graph_parse2(graph_.get(), chain.c_str(), &inputs, &outputs);
  const FilterEnds free_inputs(inputs), free_outputs(outputs);
  if (result >= 0) result = avfilter_graph_config(graph_.get(), nullptr);
  if (result < 0) return FilterError(result);
  in_ = graph_->filters[0];
  for (unsigned i = 0; i < graph_->nb_filters; ++i) {
    if (absl::string_view(graph_->filters[i]->filter->name) == "buffersink") {
      out_ = graph_->filters[i];
    }
  }
  source_ = source;
  return absl::OkStatus();
}

absl::StatusOr<FramePtr> PictureFilter::Run(const WantedFrame& wanted, double seconds) {
  FramePtr frame(av_frame_clone(wanted.frame));
  FramePtr result(av_frame_alloc());
  if (frame == nullptr || result == nullptr) return FilterError(AVERROR(ENOMEM));
  const Source source = {frame->width,         frame->height,
                         frame->format,        frame->color_range == AVCOL_RANGE_JPEG,
                         ColorspaceOf(*frame), wanted.orientation};
  if (graph_ == nullptr || source != source_) SCANLINE_RETURN_IF_ERROR(Rebuild(source));
  frame->pts = std::llround(seconds * kTicksPerSecond);
  frame->sample_aspect_ratio = {1, 1};
  int done = av_buffersrc_add_frame(in_, frame.get());
  if (done >= 0) done = av_buffersink_get_frame(out_, result.get());
  if (done < 0) return FilterError(done);
  if (IsRgb(source.format)) result->colorspace = AVCOL_SPC_BT709;
  return result;
}

absl::StatusOr<Size> ShownSize(const WantedFrame& wanted, int64_t max_pixels) {
  Size size = DisplaySize({wanted.frame->width, wanted.frame->height}, wanted.sample_aspect_num,
                          wanted.sample_aspect_den);
  if (int64_t{size.width} * size.height > max_pixels) {
    return ResolutionError(size.width, size.height, max_pixels);
  }
  if (wanted.orientation.transpose) std::swap(size.width, size.height);
  return size;
}

}  // namespace scanline::render
