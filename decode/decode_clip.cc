#include "decode/decode_clip.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "decode/early_pictures.h"
#include "decode/keyframes.h"
#include "decode/picture.h"
#include "decode/picture_maker.h"
#include "decode/sampling_plan.h"
#include "decode/timeline.h"
#include "decode/video_reader.h"

namespace scanline {
namespace {

// An index that proves wrong, a guess that proves wrong, the truth.
constexpr int kMaxWalks = 3;

// Above this share of damaged frames or packets a clip counts as corrupt (docs/errors.md).
constexpr double kMaxCorruptShare = 0.05;

// Two ways of saying one instant differ by less.
constexpr double kSameInstant = 1e-6;

absl::Status CheckClipBytes(const FrameSpec& spec, const PictureShape& shape, size_t frames,
                            int64_t limit) {
  const double wanted =
      static_cast<double>(frames) * spec.spatial_views * static_cast<double>(shape.bytes());
  if (wanted <= static_cast<double>(limit)) return absl::OkStatus();
  return MakeError(
      Reason::kFrameLimit,
      absl::StrFormat(
          "%d sampled frames at %dx%d are more than the %d bytes that one clip may take; "
          "ask for fewer frames or windows",
          frames, shape.width, shape.height, limit),
      {{"limit", absl::StrCat(limit)}, {"actual", absl::StrFormat("%.0f", wanted)}});
}

void SetShape(const PictureShape& shape, Clip& clip) {
  clip.width = shape.width;
  clip.height = shape.height;
  clip.valid_width = shape.valid_width;
  clip.valid_height = shape.valid_height;
}

// Fills a clip with the pictures of its frames, in the order of their numbers.
class ClipFiller {
 public:
  ClipFiller(const FrameSpec& spec, const DecodeLimits& limits, const FrameWatch& watch)
      : spec_(spec), max_bytes_(limits.max_clip_bytes), maker_(spec, limits.max_pixels, watch) {}

  // Empties the clip for the frames of `plan` and takes those that `early` has.
  absl::Status Begin(const SamplingPlan& plan, const EarlyPictures& early, Clip& clip) {
    frames_ = plan.DistinctFrames();
    keyframes_.clear();
    for (const PlannedKeyframe& keyframe : plan.keyframes) keyframes_.insert(keyframe.frame);
    sources_.assign(frames_.size(), {});
    clip.sampled.assign(frames_.size(), {});
    shape_ = {};
    found_ = 0;
    missing_.clear();
    // The shape of most rules, and the smallest that any frame gives: known before one is decoded.
    const PictureShape square = {spec_.size, spec_.size, spec_.size, spec_.size};
    SCANLINE_RETURN_IF_ERROR(CheckClipBytes(spec_, square, frames_.size(), max_bytes_));
    if (spec_.resize != ResizeRule::kShortSide256Pad16) Shape(square, clip);
    for (size_t slot = 0; slot < frames_.size(); ++slot) {
      const EarlyPictures::Picture* picture = early.Find(frames_[slot]);
      if (picture != nullptr && slot == 0 && shape_.width == 0) {
        SCANLINE_RETURN_IF_ERROR(ShapeBy(picture->source, clip));
      }
      // One that was not known to be a keyframe is decoded again, since its watcher passed it over.
      const bool unseen = picture != nullptr && plan.show_keyframes && !picture->keyframe &&
                          keyframes_.count(frames_[slot]) != 0;
      if (picture == nullptr || picture->shape != shape_ || unseen) {
        missing_.push_back(frames_[slot]);
        continue;
      }
      std::copy(picture->pixels.begin(), picture->pixels.end(), Pixels(slot, clip));
      Settle(slot, picture->sampled, picture->source, clip);
    }
    return absl::OkStatus();
  }
  bool complete() const { return found_ == frames_.size(); }
  const std::vector<int64_t>& frames() const { return frames_; }
  const std::vector<int64_t>& missing() const { return missing_; }  // at the beginning
  const PictureSource& source(int64_t frame) const { return sources_[Slot(frame)]; }
  double TakeWatchSeconds() { return maker_.TakeWatchSeconds(); }

  absl::Status Add(const WantedFrame& wanted, Clip& clip) {
    const size_t slot = Slot(wanted.index);
    SCANLINE_ASSIGN_OR_RETURN(const PictureSource source,
                              maker_.Load(wanted, keyframes_.count(wanted.index) != 0));
    if (shape_.width == 0) SCANLINE_RETURN_IF_ERROR(ShapeBy(source, clip));
    SCANLINE_RETURN_IF_ERROR(maker_.Store(shape_, Pixels(slot, clip)));
    Settle(slot, {.index = wanted.index, .corrupt = wanted.corrupt}, source, clip);
    ++clip.stats.frames_converted;
    return absl::OkStatus();
  }

 private:
  size_t Slot(int64_t frame) const {
    return std::lower_bound(frames_.begin(), frames_.end(), frame) - frames_.begin();
  }

  uint8_t* Pixels(size_t slot, Clip& clip) const {
    return clip.pixels.data() + slot * spec_.spatial_views * clip.picture_bytes();
  }

  void Shape(const PictureShape& shape, Clip& clip) {
    shape_ = shape;
    SetShape(shape, clip);
    clip.pixels.resize(frames_.size() * spec_.spatial_views * clip.picture_bytes());
  }

  // By the clip's first frame, unless it was made already.
  absl::Status ShapeBy(const PictureSource& source, Clip& clip) {
    SCANLINE_ASSIGN_OR_RETURN(const PictureShape shape,
                              ShapeOf(spec_, {source.width, source.height}));
    SCANLINE_RETURN_IF_ERROR(CheckClipBytes(spec_, shape, frames_.size(), max_bytes_));
    Shape(shape, clip);
    return absl::OkStatus();
  }

  // The first frame's size stands for the source.
  void Settle(size_t slot, const SampledFrame& sampled, const PictureSource& source, Clip& clip) {
    clip.sampled[slot] = sampled;
    sources_[slot] = source;
    if (slot == 0) {
      clip.source.width = source.width;
      clip.source.height = source.height;
      clip.source.rotation_ccw = source.rotation_ccw;
    }
    ++found_;
  }

  const FrameSpec& spec_;
  int64_t max_bytes_;
  PictureMaker maker_;
  std::vector<int64_t> frames_;
  std::set<int64_t> keyframes_;
  std::vector<PictureSource> sources_;  // one a frame
  PictureShape shape_;
  std::vector<int64_t> missing_;
  size_t found_ = 0;
};

void SetViews(const SamplingPlan& plan, const std::vector<int64_t>& frames, Clip& clip) {
  clip.windows = plan.windows;
  clip.views.clear();
  for (const PlannedView& planned : plan.views) {
    std::vector<int> slots;
    for (int64_t frame : planned.frames) {
      slots.push_back(
          static_cast<int>(std::lower_bound(frames.begin(), frames.end(), frame) - frames.begin()));
    }
    for (int spatial = 0; spatial < clip.spatial_views; ++spatial) {
      View view{planned.window, planned.temporal_view, spatial, {}};
      for (int slot : slots) view.pictures.push_back(slot * clip.spatial_views + spatial);
      clip.views.push_back(std::move(view));
    }
  }
}

// After SetViews.
void SetKeyframes(const SamplingPlan& plan, const ClipFiller& pictures, Clip& clip) {
  clip.keyframes.clear();
  for (const PlannedKeyframe& planned : plan.keyframes) {
    const std::vector<int64_t>& frames = plan.views[planned.view].frames;
    const PictureSource& source = pictures.source(frames[frames.size() / 2]);
    clip.keyframes.push_back(
        {planned.seconds, planned.frame, planned.view, source.width, source.height});
  }
}

void SetTimes(const Timeline& timeline, Clip& clip) {
  for (SampledFrame& frame : clip.sampled) frame.seconds = timeline.start.at(frame.index);
}

// An error, or a notice where the caller takes partial clips.
absl::Status Complain(Reason reason, const std::string& message, bool allow_partial, Clip& clip) {
  if (!allow_partial) {
    return MakeError(reason, message, {{"frames_ok", absl::StrCat(clip.source.frames)}});
  }
  clip.notices.push_back({std::string(ReasonName(reason)), message});
  return absl::OkStatus();
}

absl::Status JudgeDamage(const VideoReader& reader, bool allow_partial, Clip& clip) {
  if (reader.cut()) {
    SCANLINE_RETURN_IF_ERROR(Complain(
        Reason::kVideoTruncated,
        absl::StrFormat("the file is cut: its container speaks of more than the %d frames it holds",
                        clip.source.frames),
        allow_partial, clip));
  }
  const auto corrupt = std::count_if(clip.sampled.begin(), clip.sampled.end(),
                                     [](const SampledFrame& frame) { return frame.corrupt; });
  const bool many_lost = static_cast<double>(reader.packets_lost()) >
                         kMaxCorruptShare * static_cast<double>(reader.packets());
  const bool many_corrupt =
      static_cast<double>(corrupt) > kMaxCorruptShare * static_cast<double>(clip.sampled.size());
  if (many_lost || many_corrupt) {
    SCANLINE_RETURN_IF_ERROR(Complain(
        Reason::kVideoCorrupt,
        absl::StrFormat(
            "%d of %d packets could not be decoded and %d of %d sampled frames are damaged",
            reader.packets_lost(), reader.packets(), corrupt, clip.sampled.size()),
        allow_partial, clip));
  } else if (corrupt > 0 || reader.packets_lost() > 0) {
    clip.notices.push_back({std::string(ReasonName(Reason::kVideoCorrupt)),
                            absl::StrFormat("%d packets could not be decoded and %d sampled frames "
                                            "are damaged",
                                            reader.packets_lost(), corrupt)});
  }
  return absl::OkStatus();
}

absl::Status ValidateSpec(const FrameSpec& spec) {
  SCANLINE_RETURN_IF_ERROR(ValidateSampling(spec.sampling));
  SCANLINE_RETURN_IF_ERROR(ValidatePicture(spec));
  if (spec.sampling.keyframes && spec.spatial_views != 1) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrFormat("boxes belong to one picture of a frame; the request asks for "
                                     "%d spatial views",
                                     spec.spatial_views));
  }
  return absl::OkStatus();
}

absl::StatusOr<Clip> DecodeInput(ByteInput& input, const FrameSpec& spec,
                                 const DecodeOptions& options, const Cancel& cancel,
                                 const FrameWatch& watch) {
  const double cpu_start = ThreadCpuSeconds();
  SCANLINE_RETURN_IF_ERROR(cancel.Check(Reason::kExpiredInDecode));
  SCANLINE_RETURN_IF_ERROR(ValidateSpec(spec));
  SCANLINE_ASSIGN_OR_RETURN(const bool has_bytes, input.Reaches(1));
  if (!has_bytes) {
    return MakeError(Reason::kVideoUnreadable, "expected the bytes of a video, found 0 bytes");
  }
  EarlyPictures early;
  if (input.Arriving()) early = EarlyPictures::Collect(input, spec, options.limits, cancel, watch);
  SCANLINE_ASSIGN_OR_RETURN(const auto reader, VideoReader::Open(input, options.limits, cancel));
  if (!early.Fits(*reader)) early.Clear();
  Clip clip;
  clip.spatial_views = spec.spatial_views;
  ClipFiller pictures(spec, options.limits, watch);
  for (int walk = 0;; ++walk) {
    if (walk == kMaxWalks) {
      return MakeError(Reason::kVideoCorrupt, "the clip decodes differently each time");
    }
    const bool final = reader->timeline_is_final();
    auto plan = PlanFrames(spec.sampling, reader->timeline());
    if (!plan.ok() && final) return plan.status();
    // Of a guess that cannot be planned: no frames, only count.
    SCANLINE_RETURN_IF_ERROR(pictures.Begin(plan.ok() ? *plan : SamplingPlan(), early, clip));
    if (!final || !pictures.complete()) {
      SCANLINE_ASSIGN_OR_RETURN(const bool walked,
                                reader->Walk(pictures.missing(), [&](const WantedFrame& f) {
                                  const absl::Status added = pictures.Add(f, clip);
                                  reader->Excuse(pictures.TakeWatchSeconds());
                                  return added;
                                }));
      if (!walked) {
        early.Clear();
        continue;
      }
    }
    if (!final) {
      SCANLINE_ASSIGN_OR_RETURN(SamplingPlan truth, PlanFrames(spec.sampling, reader->timeline()));
      plan = std::move(truth);
    }
    if (!pictures.complete() || plan->DistinctFrames() != pictures.frames()) continue;
    SetViews(*plan, pictures.frames(), clip);
    SetKeyframes(*plan, pictures, clip);
    SetTimes(reader->timeline(), clip);
    break;
  }
  clip.source.container = reader->container();
  clip.source.codec = reader->codec();
  clip.source.frames = reader->timeline().frames();
  clip.source.duration_seconds = reader->timeline().end;
  const int64_t converted = clip.stats.frames_converted + early.frames_converted();
  clip.stats = reader->stats();
  clip.stats.frames_walked += early.frames_walked();
  clip.stats.frames_converted = converted;
  clip.stats.cpu_seconds =
      ThreadCpuSeconds() - cpu_start - reader->excused_seconds() - early.watch_seconds();
  SCANLINE_RETURN_IF_ERROR(JudgeDamage(*reader, options.allow_partial, clip));
  return clip;
}

// Frames that the caller chose are one window, so boxes in them belong to one frame.
absl::Status CheckFrameKeyframes(const FrameSpec& spec) {
  const auto& keyframes = spec.sampling.keyframes;
  if (!keyframes || keyframes->seconds.size() <= 1) return absl::OkStatus();
  return MakeError(
      Reason::kFieldInvalid,
      absl::StrFormat("frames that are sent as such are one window, whose boxes belong "
                      "to frame %d; boxes of %d moments were sent",
                      keyframes->box_frame, keyframes->seconds.size()));
}

// From the first frame on. The last one stays as long as the one before it.
Timeline TimelineOfOffsets(absl::Span<const double> offsets) {
  Timeline timeline;
  double step = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    timeline.start.push_back(offsets[i] - offsets[0]);
    if (i > 0 && offsets[i] > offsets[i - 1]) step = offsets[i] - offsets[i - 1];
  }
  timeline.end = offsets.empty() ? 0 : timeline.start.back() + step;
  return timeline;
}

// Boxes belong to one frame, so their time has to be nearest to it.
absl::Status CheckBoxTime(double seconds, const Window& covered, const Timeline& timeline,
                          int box_frame) {
  if (seconds < covered.start_seconds - kSameInstant ||
      seconds > covered.end_seconds + kSameInstant) {
    return MakeError(
        Reason::kSegmentOutOfRange,
        absl::StrFormat("boxes are given for %.3f s; the frames are from %.3f s to %.3f s", seconds,
                        covered.start_seconds, covered.end_seconds),
        {{"duration_seconds", absl::StrFormat("%.6f", timeline.end)}});
  }
  const int64_t nearest = NearestFrame(timeline, seconds - covered.start_seconds);
  if (timeline.start[nearest] == timeline.start[box_frame]) return absl::OkStatus();
  return MakeError(
      Reason::kFieldInvalid,
      absl::StrFormat("frames that are sent as such are one window, whose boxes belong to frame "
                      "%d at %.3f s; boxes are given for %.3f s, where frame %d is",
                      box_frame, covered.start_seconds + timeline.start[box_frame], seconds,
                      nearest));
}

// At the time that the caller says; of frames without times the caller alone knows what it means.
absl::StatusOr<Keyframe> KeyframeOf(const RawFrames& frames, const KeyframeSpec& spec,
                                    const Window& covered, const Timeline& timeline) {
  double seconds = frames.offsets_seconds.empty() ? 0 : frames.offsets_seconds[spec.box_frame];
  if (!spec.seconds.empty()) {
    seconds = spec.seconds[0];
    if (!frames.offsets_seconds.empty()) {
      SCANLINE_RETURN_IF_ERROR(CheckBoxTime(seconds, covered, timeline, spec.box_frame));
    }
  }
  return Keyframe{seconds, spec.box_frame, 0, frames.width, frames.height};
}

}  // namespace

absl::StatusOr<Clip> DecodeClipWatched(absl::Span<const uint8_t> bytes, const FrameSpec& spec,
                                       const DecodeOptions& options, const Cancel& cancel,
                                       const FrameWatch& watch) {
  if (static_cast<int64_t>(bytes.size()) > options.limits.max_bytes) {
    return MakeError(Reason::kClipTooLarge,
                     absl::StrFormat("the clip has %d bytes; at most %d are taken", bytes.size(),
                                     options.limits.max_bytes),
                     {{"limit", absl::StrCat(options.limits.max_bytes)},
                      {"actual", absl::StrCat(bytes.size())}});
  }
  MemoryInput input(bytes);
  return DecodeInput(input, spec, options, cancel, watch);
}

absl::StatusOr<Clip> DecodeClipWatched(ByteInput& input, const FrameSpec& spec,
                                       const DecodeOptions& options, const Cancel& cancel,
                                       const FrameWatch& watch) {
  return DecodeInput(input, spec, options, cancel, watch);
}

absl::StatusOr<Clip> DecodeClip(ByteInput& input, const FrameSpec& spec,
                                const DecodeOptions& options, const Cancel& cancel) {
  return DecodeInput(input, spec, options, cancel, nullptr);
}

absl::StatusOr<Clip> DecodeClip(absl::Span<const uint8_t> bytes, const FrameSpec& spec,
                                const DecodeOptions& options, const Cancel& cancel) {
  return DecodeClipWatched(bytes, spec, options, cancel, nullptr);
}

absl::StatusOr<Clip> ClipFromFrames(const RawFrames& frames, const FrameSpec& spec,
                                    const DecodeLimits& limits) {
  SCANLINE_RETURN_IF_ERROR(ValidateSpec(spec));
  const auto invalid = [](const std::string& message) {
    return MakeError(Reason::kFieldInvalid, message);
  };
  if (frames.count != spec.sampling.frames) {
    return invalid(absl::StrFormat("the model takes %d frames; %d were sent", spec.sampling.frames,
                                   frames.count));
  }
  if (frames.width < 1 || frames.height < 1) {
    return invalid(absl::StrFormat("a frame has at least one pixel; the request says %dx%d",
                                   frames.width, frames.height));
  }
  if (int64_t{frames.width} * frames.height > limits.max_pixels) {
    return ResolutionError(frames.width, frames.height, limits.max_pixels);
  }
  const int64_t frame_bytes = int64_t{frames.width} * frames.height * 3;
  if (static_cast<int64_t>(frames.rgb.size()) != frame_bytes * frames.count) {
    return invalid(absl::StrFormat("%d RGB frames of %dx%d have %d bytes; %d were sent",
                                   frames.count, frames.width, frames.height,
                                   frame_bytes * frames.count, frames.rgb.size()));
  }
  const auto& offsets = frames.offsets_seconds;
  if (!offsets.empty() && offsets.size() != static_cast<size_t>(frames.count)) {
    return invalid(
        absl::StrFormat("there is one offset a frame or none; %d were sent for %d frames",
                        offsets.size(), frames.count));
  }
  if (std::any_of(offsets.begin(), offsets.end(), [](double s) { return !std::isfinite(s); }) ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    return invalid("offsets are finite, ascending numbers of seconds");
  }
  SCANLINE_RETURN_IF_ERROR(CheckFrameKeyframes(spec));
  const Timeline timeline = TimelineOfOffsets(offsets);
  const double first = offsets.empty() ? 0 : offsets.front();
  const Window covered = {first, first + timeline.end};
  std::vector<Keyframe> keyframes;
  if (spec.sampling.keyframes) {
    SCANLINE_ASSIGN_OR_RETURN(const Keyframe keyframe,
                              KeyframeOf(frames, *spec.sampling.keyframes, covered, timeline));
    keyframes.push_back(keyframe);
  }
  SCANLINE_ASSIGN_OR_RETURN(const PictureShape shape, ShapeOf(spec, {frames.width, frames.height}));
  SCANLINE_RETURN_IF_ERROR(CheckClipBytes(spec, shape, frames.count, limits.max_clip_bytes));

  Clip clip;
  clip.spatial_views = spec.spatial_views;
  SetShape(shape, clip);
  clip.pixels.resize(static_cast<size_t>(frames.count) * spec.spatial_views * clip.picture_bytes());
  SamplingPlan plan;
  plan.windows = {covered};
  plan.views = {{}};
  std::vector<int64_t> order;
  for (int i = 0; i < frames.count; ++i) {
    const RgbView frame{frames.rgb.data() + i * frame_bytes, frames.width, frames.height,
                        ptrdiff_t{frames.width} * 3};
    SCANLINE_RETURN_IF_ERROR(MakePictures(
        spec, frame, shape, clip.pixels.data() + i * clip.spatial_views * clip.picture_bytes()));
    clip.sampled.push_back({.index = i});
    if (!offsets.empty()) clip.sampled.back().seconds = offsets[i];
    order.push_back(i);
  }
  plan.views[0].frames = order;
  SetViews(plan, order, clip);
  clip.keyframes = std::move(keyframes);
  clip.source.duration_seconds = timeline.end;
  clip.source.width = frames.width;
  clip.source.height = frames.height;
  clip.source.frames = frames.count;
  clip.stats.frames_converted = frames.count;
  return clip;
}

}  // namespace scanline
