#include "client/render/frames_at.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "client/render/file_input.h"
#include "client/render/picture_filter.h"
#include "decode/keyframes.h"
#include "decode/video_reader.h"

namespace scanline::render {
namespace {

// An index that proves wrong, a guess that proves wrong, the truth.
constexpr int kMaxWalks = 3;

using Frames = std::map<int64_t, TimedFrame>;

// The smaller copy of a frame.
absl::StatusOr<TimedFrame> Shrink(const WantedFrame& wanted, const FramesAtOptions& options) {
  SCANLINE_ASSIGN_OR_RETURN(const Size shown, ShownSize(wanted, options.limits.max_pixels));
  const double scale =
      std::min(1.0, static_cast<double>(options.max_side) / std::max(shown.width, shown.height));
  PictureFilterOptions small;
  small.width = std::max(1, static_cast<int>(std::lround(shown.width * scale)));
  small.height = std::max(1, static_cast<int>(std::lround(shown.height * scale)));
  small.format = AV_PIX_FMT_RGB24;
  SCANLINE_ASSIGN_OR_RETURN(PictureFilter filter, PictureFilter::Make(small));
  SCANLINE_ASSIGN_OR_RETURN(const FramePtr frame, filter.Run(wanted, 0));
  TimedFrame timed;
  timed.index = wanted.index;
  timed.width = frame->width;
  timed.height = frame->height;
  const size_t row = static_cast<size_t>(frame->width) * 3;
  timed.rgb.resize(row * frame->height);
  for (int y = 0; y < frame->height; ++y) {
    std::memcpy(timed.rgb.data() + row * y, frame->data[0] + ptrdiff_t{y} * frame->linesize[0],
                row);
  }
  return timed;
}

std::vector<int64_t> IndicesAt(const Timeline& timeline, absl::Span<const double> seconds,
                               FramePick pick) {
  const auto frame = pick == FramePick::kNearest ? NearestFrame : FrameAt;
  std::vector<int64_t> indices;
  for (const double at : seconds) indices.push_back(frame(timeline, at));
  return indices;
}

std::vector<int64_t> Missing(std::vector<int64_t> indices, const Frames& have) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  indices.erase(std::remove_if(indices.begin(), indices.end(),
                               [&](int64_t index) { return have.count(index) != 0; }),
                indices.end());
  return indices;
}

}  // namespace

absl::StatusOr<std::vector<TimedFrame>> FramesAt(const std::string& path,
                                                 absl::Span<const double> seconds,
                                                 const FramesAtOptions& options,
                                                 const Cancel& cancel) {
  SCANLINE_ASSIGN_OR_RETURN(const std::unique_ptr<FileInput> input, FileInput::Open(path));
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(*input, options.limits, cancel));
  Frames frames;
  std::vector<int64_t> indices = IndicesAt(reader->timeline(), seconds, options.pick);
  std::vector<int64_t> missing = Missing(indices, frames);
  for (int walk = 0; !missing.empty() || !reader->timeline_is_final(); ++walk) {
    if (walk == kMaxWalks) {
      return MakeError(Reason::kVideoCorrupt, "the clip decodes differently each time");
    }
    SCANLINE_ASSIGN_OR_RETURN(
        const bool walked, reader->Walk(missing, [&](const WantedFrame& wanted) -> absl::Status {
          SCANLINE_ASSIGN_OR_RETURN(frames[wanted.index], Shrink(wanted, options));
          return absl::OkStatus();
        }));
    if (!walked) frames.clear();
    indices = IndicesAt(reader->timeline(), seconds, options.pick);
    missing = Missing(indices, frames);
  }
  std::vector<TimedFrame> found;
  for (const int64_t index : indices) {
    found.push_back(frames.at(index));
    found.back().seconds = reader->timeline().start[index];
  }
  return found;
}

absl::StatusOr<Timeline> TimelineAt(const std::string& path, const DecodeLimits& limits,
                                    const Cancel& cancel) {
  SCANLINE_ASSIGN_OR_RETURN(const std::unique_ptr<FileInput> input, FileInput::Open(path));
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(*input, limits, cancel));
  if (!reader->timeline_is_final()) {
    SCANLINE_RETURN_IF_ERROR(
        reader->Walk({}, [](const WantedFrame&) { return absl::OkStatus(); }).status());
  }
  return reader->timeline();
}

}  // namespace scanline::render
