#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/render/memory_file.h"
#include "decode/libav.h"
#include "decode/resize.h"
#include "decode/video_reader.h"

struct AVFilterContext;
struct AVFilterGraph;

namespace scanline::render {

struct FreeFilterGraph {
  void operator()(AVFilterGraph* graph) const;
};

// What pictures are turned into.
struct PictureFilterOptions {
  int width = 0;  // of the result
  int height = 0;
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
  std::string ass;  // a script for pictures of that size, drawn last; empty: none
};

// Makes decoded frames upright, gives them square pixels and one size and format, and draws on
// them. Takes frames of any size, one after the other. libavfilter, on the calling thread.
class PictureFilter {
 public:
  // FAILED_PRECONDITION where this FFmpeg has no `ass` filter; INTERNAL.
  static absl::StatusOr<PictureFilter> Make(const PictureFilterOptions& options);

  // The script's time for this frame is `seconds`. VIDEO_CORRUPT for a frame that cannot be
  // converted.
  absl::StatusOr<FramePtr> Run(const WantedFrame& wanted, double seconds);

 private:
  // What a graph is built for.
  struct Source {
    int width = 0;
    int height = 0;
    int format = -1;
    bool full_range = false;
    int colorspace = 0;
    Orientation orientation;

    bool operator==(const Source&) const = default;
  };
  PictureFilter(PictureFilterOptions options, MemoryFile script)
      : options_(std::move(options)), script_(std::move(script)) {}
  absl::Status Rebuild(const Source& source);

  PictureFilterOptions options_;
  MemoryFile script_;
  Source source_;
  std::unique_ptr<AVFilterGraph, FreeFilterGraph> graph_;
  AVFilterContext* in_ = nullptr;  // owned by graph_
  AVFilterContext* out_ = nullptr;
};

// Size of the picture as shown: square pixels, upright. RESOLUTION_LIMIT.
absl::StatusOr<Size> ShownSize(const WantedFrame& wanted, int64_t max_pixels);

}  // namespace scanline::render
