#include "decode/video_reader.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

struct Syntax {
  PacketSyntax syntax = PacketSyntax::kOpaque;
  int nal_length_bytes = 0;
};

// avcC (ISO/IEC 14496-15 5.3.3) and hvcC (8.3.3) begin with version 1 and hold the width of the NAL
// lengths; without them the stream has start codes.
Syntax SyntaxOf(const AVCodecParameters& video) {
  const bool boxed = video.extradata_size > 0 && video.extradata[0] == 1;
  switch (video.codec_id) {
    case AV_CODEC_ID_H264:
      return {PacketSyntax::kH264,
              boxed && video.extradata_size > 4 ? (video.extradata[4] & 3) + 1 : 0};
    case AV_CODEC_ID_HEVC:
      return {PacketSyntax::kHevc,
              boxed && video.extradata_size > 21 ? (video.extradata[21] & 3) + 1 : 0};
    case AV_CODEC_ID_VP8:
      return {PacketSyntax::kVp8};
    case AV_CODEC_ID_VP9:
      return {PacketSyntax::kVp9};
    default:
      break;
  }
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get(video.codec_id);
  const bool intra = descriptor != nullptr && (descriptor->props & AV_CODEC_PROP_INTRA_ONLY);
  return {intra ? PacketSyntax::kIntraOnly : PacketSyntax::kOpaque};
}

IndexedPacket IndexPacket(const Syntax& syntax, const AVPacket& packet) {
  const PacketInfo info = InspectPacket(syntax.syntax, syntax.nal_length_bytes,
                                        {packet.data, static_cast<size_t>(packet.size)});
  IndexedPacket indexed;
  indexed.pts = packet.pts;
  indexed.displayed = info.shown && !(packet.flags & AV_PKT_FLAG_DISCARD);
  indexed.understood = info.understood && !(packet.flags & AV_PKT_FLAG_CORRUPT);
  indexed.closed_key = info.closed_key;
  indexed.disposable = info.disposable;
  indexed.temporal_layer = static_cast<int8_t>(info.temporal_layer);
  return indexed;
}

}  // namespace

double ThreadCpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Timeline TimelineOf(const AVStream& stream, absl::Span<const int64_t> pts) {
  AVRational rate = stream.avg_frame_rate;
  if (rate.num <= 0 || rate.den <= 0) rate = stream.r_frame_rate;
  const double step = rate.num > 0 && rate.den > 0 ? av_q2d(av_inv_q(rate)) : 1.0 / 25;
  return BuildTimeline(pts, av_q2d(stream.time_base), std::clamp(step, 1e-4, 1.0));
}

WantedFrame DescribeFrame(const Demuxer& demuxer, const AVFrame& frame, int64_t index,
                          bool corrupt) {
  const AVStream& stream = *demuxer.stream();
  WantedFrame wanted;
  wanted.index = index;
  wanted.corrupt = corrupt;
  wanted.frame = &frame;
  const uint8_t* matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr);
  if (matrix == nullptr) {
    const AVFrameSideData* own = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (own != nullptr) matrix = own->data;
  }
  wanted.orientation = OrientationFromMatrix(reinterpret_cast<const int32_t*>(matrix));
  AVRational aspect = frame.sample_aspect_ratio;
  if (aspect.num <= 0 || aspect.den <= 0) aspect = demuxer.SampleAspect(frame.width, frame.height);
  wanted.sample_aspect_num = aspect.num;
  wanted.sample_aspect_den = aspect.den;
  return wanted;
}

VideoReader::VideoReader(ByteInput& input, const DecodeLimits& limits, const Cancel& cancel,
                         std::unique_ptr<LibavFindings> findings, std::unique_ptr<Demuxer> demuxer)
    : input_(input),
      limits_(limits),
      cancel_(cancel),
      findings_(std::move(findings)),
      demuxer_(std::move(demuxer)) {}

absl::StatusOr<std::unique_ptr<VideoReader>> VideoReader::Open(ByteInput& input,
                                                               const DecodeLimits& limits,
                                                               const Cancel& cancel,
                                                               int64_t max_kept_bytes) {
  const double cpu_start = ThreadCpuSeconds();
  auto findings = std::make_unique<LibavFindings>();
  const LibavScope scope(findings.get());
  SCANLINE_ASSIGN_OR_RETURN(std::unique_ptr<Demuxer> demuxer,
                            Demuxer::Open(input, limits.max_pixels, cancel, findings.get()));
  std::unique_ptr<VideoReader> reader(
      new VideoReader(input, limits, cancel, std::move(findings), std::move(demuxer)));
  reader->cpu_start_ = cpu_start;
  SCANLINE_RETURN_IF_ERROR(reader->ReadIndex(max_kept_bytes));
  return reader;
}

absl::Status VideoReader::CheckBudget() const {
  SCANLINE_RETURN_IF_ERROR(cancel_.Check(Reason::kExpiredInDecode));
  const double used = ThreadCpuSeconds() - cpu_start_ - excused_seconds_;
  if (used <= limits_.max_cpu_seconds) return absl::OkStatus();
  return MakeError(
      Reason::kDecodeBudget,
      absl::StrFormat("the clip took %.1f s to decode so far; at most %.1f s are spent on one",
                      used, limits_.max_cpu_seconds),
      {{"limit", absl::StrCat(limits_.max_cpu_seconds)}, {"actual", absl::StrCat(used)}});
}

absl::Status VideoReader::ReadIndex(int64_t max_kept_bytes) {
  const Syntax syntax = SyntaxOf(*demuxer_->stream()->codecpar);
  PacketPtr packet(av_packet_alloc());
  int64_t kept_bytes = 0;
  bool damaged = false;
  while (true) {
    SCANLINE_RETURN_IF_ERROR(CheckBudget());
    SCANLINE_ASSIGN_OR_RETURN(const bool more, demuxer_->Read(packet.get()));
    if (!more) break;
    if (static_cast<int64_t>(index_.packets.size()) >= limits_.max_frames) {
      return MakeError(Reason::kFrameLimit,
                       absl::StrFormat("the clip has more than %d frames; send a shorter one",
                                       limits_.max_frames),
                       {{"limit", absl::StrCat(limits_.max_frames)}});
    }
    damaged = damaged || (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    index_.packets.push_back(IndexPacket(syntax, *packet));
    kept_bytes += packet->size;
    if (kept_bytes > max_kept_bytes && keeps_packets_) {
      keeps_packets_ = false;
      kept_.clear();
    }
    if (keeps_packets_) kept_.emplace_back(av_packet_clone(packet.get()));
  }
  cut_ = demuxer_->cut();
  FinishIndex(index_, damaged || cut_);
  if (index_.packets.empty()) {
    if (cut_) {
      return MakeError(Reason::kVideoUnreadable,
                       "the file ends before its first frame; send the whole file");
    }
    return MakeError(Reason::kNoVideoStream, "the video stream holds no frames");
  }
  if (!index_.display_pts.empty()) {
    timeline_ = TimelineOf(*demuxer_->stream(), index_.display_pts);
    first_pts_ = index_.display_pts.front();
  } else {
    timeline_ = TimelineOf(*demuxer_->stream(),
                           std::vector<int64_t>(std::max<int64_t>(1, index_.displayed), kNoPts));
  }
  return index_.exact ? CheckTimeline() : absl::OkStatus();
}

std::optional<double> VideoReader::origin_seconds() const {
  if (first_pts_ == kNoPts) return std::nullopt;
  return static_cast<double>(first_pts_) * av_q2d(stream().time_base) -
         timeline_.start.at(first_stamped_);
}

absl::Status VideoReader::CheckTimeline() {
  if (timeline_.end <= limits_.max_duration_seconds) return absl::OkStatus();
  return MakeError(Reason::kDurationLimit,
                   absl::StrFormat("the clip is %.1f s long; at most %.1f s are taken",
                                   timeline_.end, limits_.max_duration_seconds),
                   {{"limit", absl::StrCat(limits_.max_duration_seconds)},
                    {"actual", absl::StrCat(timeline_.end)}});
}

absl::StatusOr<FrameDecoder> VideoReader::OpenDecoder() const {
  return FrameDecoder::Open(*demuxer_->decoder(), *demuxer_->stream(), limits_, findings_.get());
}

absl::Status VideoReader::ForEachPacket(
    const std::function<absl::StatusOr<bool>(AVPacket*, size_t)>& fn) {
  if (keeps_packets_) {
    for (size_t i = 0; i < kept_.size(); ++i) {
      SCANLINE_ASSIGN_OR_RETURN(const bool more, fn(kept_[i].get(), i));
      if (!more) break;
    }
    return absl::OkStatus();
  }
  SCANLINE_ASSIGN_OR_RETURN(demuxer_,
                            Demuxer::Open(input_, limits_.max_pixels, cancel_, findings_.get()));
  PacketPtr packet(av_packet_alloc());
  for (size_t i = 0; i < index_.packets.size(); ++i) {
    SCANLINE_ASSIGN_OR_RETURN(bool more, demuxer_->Read(packet.get()));
    if (more) {
      SCANLINE_ASSIGN_OR_RETURN(more, fn(packet.get(), i));
    }
    if (!more) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> VideoReader::Walk(absl::Span<const int64_t> wanted, const OnFrame& on_frame) {
  const LibavScope scope(findings_.get());
  const double before = ThreadCpuSeconds() - excused_seconds_;
  auto walked = index_.exact ? WalkNeeded(wanted, on_frame) : WalkAll(wanted, on_frame);
  stats_.cpu_seconds += ThreadCpuSeconds() - excused_seconds_ - before;
  return walked;
}

void VideoReader::AdoptCount(Timeline timeline, int64_t first_pts) {
  timeline_ = std::move(timeline);
  first_pts_ = first_pts;
  first_stamped_ = 0;
  counted_ = true;
  packets_lost_ = 0;
}

// Everything, counted. The first such walk goes to the end, since it sets the timeline.
absl::StatusOr<bool> VideoReader::WalkAll(absl::Span<const int64_t> wanted,
                                          const OnFrame& on_frame) {
  SCANLINE_ASSIGN_OR_RETURN(FrameDecoder decoder, OpenDecoder());
  std::vector<int64_t> pts;
  size_t next = 0;  // of `wanted`
  int64_t lost = 0;
  bool tainted = false;  // since damage, until a key: frames may refer to what is wrong
  if (!counted_) first_pts_ = kNoPts;
  const auto on_decoded = [&](const AVFrame& frame) -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(CheckBudget());
    ++stats_.frames_walked;
    const int64_t stamp = frame.best_effort_timestamp;
    const auto index = static_cast<int64_t>(pts.size());
    if (first_pts_ == kNoPts) {
      first_pts_ = stamp;
      first_stamped_ = index;
    }
    pts.push_back(stamp);
    if (index >= limits_.max_frames) {
      return MakeError(Reason::kFrameLimit,
                       absl::StrFormat("the clip has more than %d frames; send a shorter one",
                                       limits_.max_frames),
                       {{"limit", absl::StrCat(limits_.max_frames)}});
    }
    tainted = IsCorrupt(frame) || (tainted && !frame.key_frame);
    if (next == wanted.size() || wanted[next] != index) return absl::OkStatus();
    ++next;
    return on_frame(DescribeFrame(*demuxer_, frame, index, tainted));
  };
  const auto feed = [&](const AVPacket* packet) -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(CheckBudget());
    SCANLINE_ASSIGN_OR_RETURN(const bool decoded, decoder.Feed(packet, on_decoded));
    if (!decoded && !pts.empty()) {
      ++lost;
      tainted = true;
    }
    return absl::OkStatus();
  };
  SCANLINE_RETURN_IF_ERROR(ForEachPacket([&](AVPacket* packet, size_t) -> absl::StatusOr<bool> {
    SCANLINE_RETURN_IF_ERROR(feed(packet));
    return !(counted_ && next == wanted.size());
  }));
  SCANLINE_RETURN_IF_ERROR(feed(nullptr));
  if (counted_) return true;
  if (pts.empty()) return NoFramesError();
  counted_ = true;
  packets_lost_ = lost;
  timeline_ = TimelineOf(*demuxer_->stream(), pts);
  SCANLINE_RETURN_IF_ERROR(CheckTimeline());
  return true;
}

// Only what the wanted frames need. Each decoded packet must give the one frame that the index
// promised, in ascending order; anything else means that the index is wrong.
absl::StatusOr<bool> VideoReader::WalkNeeded(absl::Span<const int64_t> wanted,
                                             const OnFrame& on_frame) {
  const std::vector<bool> needed = PacketsToDecode(index_, wanted);
  const auto last = std::find(needed.rbegin(), needed.rend(), true).base() - needed.begin();
  SCANLINE_ASSIGN_OR_RETURN(FrameDecoder decoder, OpenDecoder());
  int64_t last_index = -1;
  int64_t promised = 0, delivered = 0;
  bool as_promised = true, left_out = false;

  const auto on_decoded = [&](const AVFrame& frame) -> absl::Status {
    ++stats_.frames_walked;
    const auto at =
        std::lower_bound(index_.display_pts.begin(), index_.display_pts.end(), frame.pts);
    const auto index = at - index_.display_pts.begin();
    if (at == index_.display_pts.end() || *at != frame.pts || index <= last_index ||
        IsCorrupt(frame)) {
      as_promised = false;
    }
    if (!as_promised) return absl::OkStatus();
    last_index = index;
    ++delivered;
    if (!std::binary_search(wanted.begin(), wanted.end(), index)) return absl::OkStatus();
    return on_frame(DescribeFrame(*demuxer_, frame, index, /*corrupt=*/false));
  };
  const auto feed = [&](const AVPacket* packet) -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(CheckBudget());
    SCANLINE_ASSIGN_OR_RETURN(const bool decoded, decoder.Feed(packet, on_decoded));
    as_promised = as_promised && decoded;
    return absl::OkStatus();
  };
  const auto finish_run = [&]() -> absl::Status {
    SCANLINE_RETURN_IF_ERROR(feed(nullptr));
    as_promised = as_promised && delivered == promised;
    return absl::OkStatus();
  };

  SCANLINE_RETURN_IF_ERROR(ForEachPacket([&](AVPacket* packet, size_t i) -> absl::StatusOr<bool> {
    if (static_cast<ptrdiff_t>(i) >= last) return false;
    if (!needed[i]) {
      ++stats_.frames_skipped;
      // Behind a hole decoding goes on at a closed key.
      left_out = left_out || !index_.packets[i].disposable;
      return true;
    }
    if (left_out && promised > 0) {
      SCANLINE_RETURN_IF_ERROR(finish_run());
      decoder.Restart();
      ++stats_.seeks;
    }
    left_out = false;
    promised += index_.packets[i].displayed;
    SCANLINE_RETURN_IF_ERROR(feed(packet));
    return as_promised;
  }));
  if (as_promised) SCANLINE_RETURN_IF_ERROR(finish_run());
  if (!as_promised) index_.exact = false;
  return as_promised;
}

absl::Status VideoReader::NoFramesError() const {
  if (index_.displayed == 0) {
    return MakeError(Reason::kNoVideoStream,
                     "the video shows no frame: its edit list cuts all of them away");
  }
  if (findings_->unsupported) {
    return MakeError(Reason::kCodecUnsupported,
                     absl::StrFormat("this kind of %s is not supported by its decoder", codec()),
                     {{"codec", codec()}});
  }
  return MakeError(
      Reason::kVideoUnreadable,
      absl::StrFormat("none of the %d packets of %s video could be decoded", packets(), codec()));
}

}  // namespace scanline
