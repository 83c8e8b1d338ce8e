#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace scanline {

// The stable reasons that a caller can branch on: google.rpc.ErrorInfo.reason on the wire, `reason`
// in the command line's JSON. Names and codes: docs/errors.md. One row of the table in error.cc
// each.
enum class Reason {
  kFieldInvalid,
  kVideoUnreadable,
  kCodecUnsupported,
  kNoVideoStream,
  kVideoTruncated,
  kVideoCorrupt,
  kClipTooLarge,
  kResolutionLimit,
  kDurationLimit,
  kFrameLimit,
  kDecodeBudget,
  kSegmentOutOfRange,
  kChecksumMismatch,
  kStreamProtocol,
  kModelNotFound,
  kTaskUnsupported,
  kModelLoading,
  kQueueFull,
  kUploadStorage,
  kExpiredInQueue,
  kExpiredInDecode,
  kExpiredInInference,
  kCancelled,
  kStreamIdle,
  kDraining,
  kDeviceMemory,
  kDeviceLost,
  kNonFiniteOutput,
  kBundleInvalid,
  kInternal,
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// A Status with the code that belongs to `reason`. `message` says what was expected and what was
// found; `metadata` holds the same facts for programs (ErrorInfo.metadata), e.g. {"limit", "..."}.
absl::Status MakeError(Reason reason, absl::string_view message, Metadata metadata = {});

absl::string_view ReasonName(Reason reason);                 // "VIDEO_UNREADABLE"
absl::StatusCode ReasonCode(Reason reason);                  // absl::StatusCode::kInvalidArgument
std::optional<Reason> ReasonOf(const absl::Status& status);  // nullopt: not made by MakeError
Metadata MetadataOf(const absl::Status& status);

// Every reason, in declaration order: for tables and for the test that each one is documented.
const std::vector<Reason>& AllReasons();

}  // namespace scanline
