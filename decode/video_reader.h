#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "decode/byte_input.h"
#include "decode/decode_clip.h"
#include "decode/demuxer.h"
#include "decode/frame_decoder.h"
#include "decode/libav_log.h"
#include "decode/orientation.h"
#include "decode/packet_index.h"
#include "decode/timeline.h"

namespace scanline {

// A decoded frame that was asked for, on loan for the call.
struct WantedFrame {
  int64_t index = 0;     // in display order
  bool corrupt = false;  // damaged, or since damage no key came
  const AVFrame* frame = nullptr;
  Orientation orientation;
  int sample_aspect_num = 0;  // of the stored picture; 0: not known
  int sample_aspect_den = 1;
};

// `frame`, number `index` in display order, as a walk hands it out.
WantedFrame DescribeFrame(const Demuxer& demuxer, const AVFrame& frame, int64_t index,
                          bool corrupt);

// When frames with these timestamps (display order) of `stream` come on screen.
Timeline TimelineOf(const AVStream& stream, absl::Span<const int64_t> pts);

// Decodes a file forward, in display order. Opening reads all packets once without
// decoding them. Where that proves which frame each packet gives, a walk decodes only what the
// wanted frames need; else it decodes everything and counts, and what it counted replaces the
// guess. So the caller plans on timeline(), walks, and plans again until the plan stays
// (decode_clip.cc).
class VideoReader {
 public:
  // Packets up to this many bytes are kept from the first reading; of larger files they are read
  // again.
  static constexpr int64_t kMaxKeptBytes = int64_t{64} << 20;

  // `input` is borrowed. Errors as DecodeClip, but CLIP_TOO_LARGE.
  static absl::StatusOr<std::unique_ptr<VideoReader>> Open(ByteInput& input,
                                                           const DecodeLimits& limits,
                                                           const Cancel& cancel,
                                                           int64_t max_kept_bytes = kMaxKeptBytes);

  // The displayed frames as known so far.
  const Timeline& timeline() const { return timeline_; }
  // Nothing more can be learned about the timeline.
  bool timeline_is_final() const { return index_.exact || counted_; }

  using OnFrame = std::function<absl::Status(const WantedFrame&)>;
  // Hands each of `wanted` (display indices, ascending) that exists to `on_frame`. False: the walk
  // broke off because it met what the packets did not promise; the next one counts everything.
  absl::StatusOr<bool> Walk(absl::Span<const int64_t> wanted, const OnFrame& on_frame);

  // Every frame was decoded and counted already, elsewhere, and none was damaged.
  void AdoptCount(Timeline timeline, int64_t first_pts);

  // From now on every packet is decoded, as if the index proved nothing. For tests that compare.
  void ForgetIndex() { index_.exact = false; }

  // CPU seconds that a frame's receiver took and that are no decoding: not counted in the budget.
  void Excuse(double seconds) { excused_seconds_ += seconds; }
  double excused_seconds() const { return excused_seconds_; }

  // Damage seen: bytes missing at the end, and packets that gave no frame (those before the first
  // frame do not count: a stream may be joined in mid-group).
  bool cut() const { return cut_; }
  int64_t packets_lost() const { return packets_lost_; }
  int64_t packets() const { return static_cast<int64_t>(index_.packets.size()); }

  // The stream that is read, until the next Walk, and when timeline() begins by the container's
  // clock; empty where no frame has a timestamp.
  const AVStream& stream() const { return *demuxer_->stream(); }
  std::optional<double> origin_seconds() const;

  std::string container() const { return demuxer_->container(); }
  std::string codec() const { return demuxer_->decoder()->name; }
  const DecodeStats& stats() const { return stats_; }

 private:
  VideoReader(ByteInput& input, const DecodeLimits& limits, const Cancel& cancel,
              std::unique_ptr<LibavFindings> findings, std::unique_ptr<Demuxer> demuxer);
  absl::Status ReadIndex(int64_t max_kept_bytes);
  absl::Status CheckTimeline();
  absl::StatusOr<FrameDecoder> OpenDecoder() const;
  absl::StatusOr<bool> WalkNeeded(absl::Span<const int64_t> wanted, const OnFrame& on_frame);
  absl::StatusOr<bool> WalkAll(absl::Span<const int64_t> wanted, const OnFrame& on_frame);
  absl::Status NoFramesError() const;
  // Calls fn(packet, position) for each packet in decoding order until it says false.
  absl::Status ForEachPacket(const std::function<absl::StatusOr<bool>(AVPacket*, size_t)>& fn);
  absl::Status CheckBudget() const;

  ByteInput& input_;
  DecodeLimits limits_;
  Cancel cancel_;
  std::unique_ptr<LibavFindings> findings_;  // the demuxer keeps its address
  std::unique_ptr<Demuxer> demuxer_;
  double cpu_start_ = 0;
  double excused_seconds_ = 0;
  PacketIndex index_;
  std::vector<PacketPtr> kept_;  // all packets, or none
  bool keeps_packets_ = true;
  Timeline timeline_;
  int64_t first_pts_ = kNoPts;  // the first timestamp that there is,
  int64_t first_stamped_ = 0;   // and the frame that has it
  bool counted_ = false;
  bool cut_ = false;
  int64_t packets_lost_ = 0;
  DecodeStats stats_;
};

// CPU seconds that the calling thread has used.
double ThreadCpuSeconds();

}  // namespace scanline
