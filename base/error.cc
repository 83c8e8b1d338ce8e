#include "base/error.h"

#include <array>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace scanline {
namespace {

constexpr char kReasonUrl[] = "scanline/reason";
constexpr char kMetadataUrl[] = "scanline/metadata";  // key NUL value NUL, repeated.

struct Row {
  Reason reason;
  const char* name;
  absl::StatusCode code;
};

using absl::StatusCode;

constexpr std::array kRows = {
    Row{Reason::kFieldInvalid, "FIELD_INVALID", StatusCode::kInvalidArgument},
    Row{Reason::kVideoUnreadable, "VIDEO_UNREADABLE", StatusCode::kInvalidArgument},
    Row{Reason::kCodecUnsupported, "CODEC_UNSUPPORTED", StatusCode::kInvalidArgument},
    Row{Reason::kNoVideoStream, "NO_VIDEO_STREAM", StatusCode::kInvalidArgument},
    Row{Reason::kVideoTruncated, "VIDEO_TRUNCATED", StatusCode::kInvalidArgument},
    Row{Reason::kVideoCorrupt, "VIDEO_CORRUPT", StatusCode::kInvalidArgument},
    Row{Reason::kClipTooLarge, "CLIP_TOO_LARGE", StatusCode::kInvalidArgument},
    Row{Reason::kResolutionLimit, "RESOLUTION_LIMIT", StatusCode::kInvalidArgument},
    Row{Reason::kDurationLimit, "DURATION_LIMIT", StatusCode::kInvalidArgument},
    Row{Reason::kFrameLimit, "FRAME_LIMIT", StatusCode::kInvalidArgument},
    Row{Reason::kDecodeBudget, "DECODE_BUDGET", StatusCode::kInvalidArgument},
    Row{Reason::kSegmentOutOfRange, "SEGMENT_OUT_OF_RANGE", StatusCode::kOutOfRange},
    Row{Reason::kChecksumMismatch, "CHECKSUM_MISMATCH", StatusCode::kDataLoss},
    Row{Reason::kStreamProtocol, "STREAM_PROTOCOL", StatusCode::kFailedPrecondition},
    Row{Reason::kModelNotFound, "MODEL_NOT_FOUND", StatusCode::kNotFound},
    Row{Reason::kTaskUnsupported, "TASK_UNSUPPORTED", StatusCode::kFailedPrecondition},
    Row{Reason::kModelLoading, "MODEL_LOADING", StatusCode::kUnavailable},
    Row{Reason::kQueueFull, "QUEUE_FULL", StatusCode::kResourceExhausted},
    Row{Reason::kUploadStorage, "UPLOAD_STORAGE", StatusCode::kResourceExhausted},
    Row{Reason::kExpiredInQueue, "EXPIRED_IN_QUEUE", StatusCode::kDeadlineExceeded},
    Row{Reason::kExpiredInDecode, "EXPIRED_IN_DECODE", StatusCode::kDeadlineExceeded},
    Row{Reason::kExpiredInInference, "EXPIRED_IN_INFERENCE", StatusCode::kDeadlineExceeded},
    Row{Reason::kCancelled, "CANCELLED", StatusCode::kCancelled},
    Row{Reason::kStreamIdle, "STREAM_IDLE", StatusCode::kAborted},
    Row{Reason::kDraining, "DRAINING", StatusCode::kUnavailable},
    Row{Reason::kDeviceMemory, "DEVICE_MEMORY", StatusCode::kResourceExhausted},
    Row{Reason::kDeviceLost, "DEVICE_LOST", StatusCode::kUnavailable},
    Row{Reason::kNonFiniteOutput, "NON_FINITE_OUTPUT", StatusCode::kInternal},
    Row{Reason::kBundleInvalid, "BUNDLE_INVALID", StatusCode::kFailedPrecondition},
    Row{Reason::kInternal, "INTERNAL", StatusCode::kInternal},
};

const Row& RowOf(Reason reason) {
  const auto index = static_cast<size_t>(reason);
  SCANLINE_CHECK(index < kRows.size() && kRows[index].reason == reason);
  return kRows[index];
}

}  // namespace

absl::Status MakeError(Reason reason, absl::string_view message, Metadata metadata) {
  const Row& row = RowOf(reason);
  absl::Status status(row.code, message);
  status.SetPayload(kReasonUrl, absl::Cord(row.name));
  if (!metadata.empty()) {
    std::string flat;
    for (const auto& [key, value] : metadata) {
      absl::StrAppend(&flat, key, absl::string_view("\0", 1), value, absl::string_view("\0", 1));
    }
    status.SetPayload(kMetadataUrl, absl::Cord(flat));
  }
  return status;
}

absl::string_view ReasonName(Reason reason) { return RowOf(reason).name; }

absl::StatusCode ReasonCode(Reason reason) { return RowOf(reason).code; }

std::optional<Reason> ReasonOf(const absl::Status& status) {
  const auto name = status.GetPayload(kReasonUrl);
  if (!name.has_value()) return std::nullopt;
  for (const Row& row : kRows) {
    if (*name == row.name) return row.reason;
  }
  return std::nullopt;
}

Metadata MetadataOf(const absl::Status& status) {
  Metadata metadata;
  const auto payload = status.GetPayload(kMetadataUrl);
  if (!payload.has_value()) return metadata;
  const std::string flat(*payload);
  size_t at = 0;
  while (at < flat.size()) {
    const size_t key_end = flat.find('\0', at);
    const size_t value_end = flat.find('\0', key_end + 1);
    metadata.emplace_back(flat.substr(at, key_end - at),
                          flat.substr(key_end + 1, value_end - key_end - 1));
    at = value_end + 1;
  }
  return metadata;
}

const std::vector<Reason>& AllReasons() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<Reason>;
    for (const Row& row : kRows) all->push_back(row.reason);
    return all;
  }();
  return *kAll;
}

}  // namespace scanline
