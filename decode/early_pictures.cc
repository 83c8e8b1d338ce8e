#include "decode/early_pictures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "decode/demuxer.h"
#include "decode/frame_decoder.h"
#include "decode/libav_log.h"
#include "decode/sampling_plan.h"

namespace scanline {
namespace {

constexpr double kBudgetShare = 0.5;  // the walk that may follow has the rest

// Two ways of computing one instant differ by less (timeline.cc).
constexpr double kSameInstant = 1e-7;

constexpr double kFarthest = 1e9;  // seconds; hostile timestamps say more

// Ends the forecast; nobody sees it.
absl::Status GiveUp(const char* why) { return absl::CancelledError(why); }

enum class Wish { kNo, kPicture, kKeyframe };
using Wants = std::function<Wish(int64_t index, double start, double end)>;

std::optional<SamplingPlan> PlanOfDeclared(const SamplingSpec& spec, const AVStream& stream,
                                           int64_t max_frames) {
  if (stream.nb_frames <= 0 || stream.nb_frames > max_frames) return std::nullopt;
  const std::vector<int64_t> unknown(stream.nb_frames, kNoPts);
  auto plan = PlanFrames(spec, TimelineOf(stream, unknown));
  if (!plan.ok()) return std::nullopt;
  return *std::move(plan);
}

std::optional<Wants> Foresee(const SamplingSpec& spec, const AVStream& stream, int64_t max_frames) {
  if (spec.rule == SamplingRule::kWindow && !spec.keyframes) {
    return [&spec](int64_t, double start, double end) {
      return WindowRuleWants(spec, start, end) ? Wish::kPicture : Wish::kNo;
    };
  }
  const auto plan = PlanOfDeclared(spec, stream, max_frames);
  if (!plan) return std::nullopt;
  std::map<int64_t, Wish> wishes;
  for (int64_t frame : plan->DistinctFrames()) wishes[frame] = Wish::kPicture;
  for (const PlannedKeyframe& keyframe : plan->keyframes) {
    const auto at = wishes.find(keyframe.frame);
    if (at != wishes.end()) at->second = Wish::kKeyframe;
  }
  return [wishes = std::move(wishes)](int64_t index, double, double) {
    const auto at = wishes.find(index);
    return at == wishes.end() ? Wish::kNo : at->second;
  };
}

}  // namespace

bool WindowRuleWants(const SamplingSpec& spec, double start, double end) {
  const double step = spec.window_seconds / spec.frames;
  const double latest = spec.end_seconds.value_or(std::numeric_limits<double>::infinity());
  if (start >= latest || end <= spec.start_seconds || start > kFarthest) return false;
  // Windows that have begun by `end` and not ended at `start`.
  const double since = start - spec.start_seconds;
  const auto first = std::max<int64_t>(
      0, static_cast<int64_t>(std::floor((since - spec.window_seconds) / spec.stride_seconds)));
  for (int64_t i = first;; ++i) {
    const double begin = spec.start_seconds + static_cast<double>(i) * spec.stride_seconds;
    if (begin >= end || i > first + 2 + spec.window_seconds / spec.stride_seconds) return false;
    // The first sampled instant of this window from `start` on.
    const double k = std::ceil((start - kSameInstant - begin) / step - 0.5);
    const double at = begin + (std::max(0.0, k) + 0.5) * step;
    if (k < spec.frames && at + kSameInstant < end) return true;
  }
}

EarlyPictures EarlyPictures::Collect(ByteInput& input, const FrameSpec& spec,
                                     const DecodeLimits& limits, const Cancel& cancel,
                                     const FrameWatch& watch) {
  EarlyPictures early;
  early.whole_ = early.Run(input, spec, limits, cancel, watch).ok();
  if (!early.whole_) early.Clear();
  return early;
}

absl::Status EarlyPictures::Run(ByteInput& input, const FrameSpec& spec, const DecodeLimits& limits,
                                const Cancel& cancel, const FrameWatch& watch) {
  const double cpu_start = ThreadCpuSeconds();
  LibavFindings findings;
  const LibavScope scope(&findings);
  SCANLINE_ASSIGN_OR_RETURN(
      const auto demuxer,
      Demuxer::Open(input, limits.max_pixels, cancel, &findings, ByteSource::Access::kForward));
  const AVStream& stream = *demuxer->stream();
  const auto wants = Foresee(spec.sampling, stream, limits.max_frames);
  if (!wants.has_value()) return GiveUp("which frames are wanted is known at the end only");
  SCANLINE_ASSIGN_OR_RETURN(FrameDecoder decoder,
                            FrameDecoder::Open(*demuxer->decoder(), stream, limits, &findings));

  PictureMaker maker(spec, limits.max_pixels, watch);
  PictureShape shape;  // of the first picture
  std::vector<int64_t> pts;
  FramePtr held(av_frame_alloc());  // the latest frame: the next one says when it leaves the screen

  const auto seconds = [&](int64_t stamp) {
    return (static_cast<double>(stamp) - static_cast<double>(pts.front())) *
           av_q2d(stream.time_base);
  };
  const auto settle_held = [&](double end) -> absl::Status {
    const auto index = static_cast<int64_t>(pts.size()) - 1;
    const Wish wish = (*wants)(index, seconds(pts.back()), end);
    if (wish == Wish::kNo) return absl::OkStatus();
    const WantedFrame wanted = DescribeFrame(*demuxer, *held, index, /*corrupt=*/false);
    SCANLINE_ASSIGN_OR_RETURN(const PictureSource source,
                              maker.Load(wanted, wish == Wish::kKeyframe));
    watch_seconds_ += maker.TakeWatchSeconds();
    if (shape.width == 0) {
      SCANLINE_ASSIGN_OR_RETURN(shape, ShapeOf(spec, {source.width, source.height}));
    }
    const auto bytes = static_cast<int64_t>(shape.bytes()) * spec.spatial_views;
    if ((frames_converted_ + 1) * bytes > limits.max_clip_bytes) {
      return GiveUp("more pictures than a clip may hold");
    }
    Picture& picture = pictures_[index];
    picture.source = source;
    picture.shape = shape;
    picture.keyframe = wish == Wish::kKeyframe;
    picture.pixels.resize(bytes);
    SCANLINE_RETURN_IF_ERROR(maker.Store(shape, picture.pixels.data()));
    picture.sampled = {.index = index};
    ++frames_converted_;
    return absl::OkStatus();
  };
  const auto on_decoded = [&](const AVFrame& frame) -> absl::Status {
    ++frames_walked_;
    const int64_t stamp = frame.best_effort_timestamp;
    if (IsCorrupt(frame) || stamp == kNoPts || (!pts.empty() && stamp <= pts.back())) {
      return GiveUp("damage, or timestamps that do not rise");
    }
    if (!pts.empty()) SCANLINE_RETURN_IF_ERROR(settle_held(seconds(stamp)));
    pts.push_back(stamp);
    av_frame_unref(held.get());
    return av_frame_ref(held.get(), &frame) < 0 ? GiveUp("no memory") : absl::OkStatus();
  };
  const auto feed = [&](const AVPacket* packet) -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(cancel.Check(Reason::kExpiredInDecode));
    if (ThreadCpuSeconds() - cpu_start - watch_seconds_ > kBudgetShare * limits.max_cpu_seconds) {
      return GiveUp("half of the CPU budget is used");
    }
    SCANLINE_ASSIGN_OR_RETURN(const bool decoded, decoder.Feed(packet, on_decoded));
    return decoded || pts.empty() ? absl::OkStatus() : GiveUp("a packet was lost");
  };

  PacketPtr packet(av_packet_alloc());
  while (true) {
    SCANLINE_ASSIGN_OR_RETURN(const bool more, demuxer->Read(packet.get()));
    if (!more) break;
    if (++packets_ > limits.max_frames) return GiveUp("more frames than the limit");
    SCANLINE_RETURN_IF_ERROR(feed(packet.get()));
  }
  SCANLINE_RETURN_IF_ERROR(feed(nullptr));
  if (pts.empty() || demuxer->cut()) return GiveUp("cut, or without frames");
  SCANLINE_RETURN_IF_ERROR(settle_held(std::numeric_limits<double>::infinity()));
  timeline_ = TimelineOf(stream, pts);
  first_pts_ = pts.front();
  return absl::OkStatus();
}

bool EarlyPictures::Fits(VideoReader& reader) const {
  if (!whole_ || reader.cut() || packets_ != reader.packets()) return false;
  if (reader.timeline_is_final()) return timeline_.start == reader.timeline().start;
  reader.AdoptCount(timeline_, first_pts_);
  return true;
}

const EarlyPictures::Picture* EarlyPictures::Find(int64_t index) const {
  const auto found = pictures_.find(index);
  return found == pictures_.end() ? nullptr : &found->second;
}

}  // namespace scanline
