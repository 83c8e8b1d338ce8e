#include "client/cli/exit_code.h"

#include "client/cli/local_error.h"

namespace scanline::cli {

ExitCode ExitCodeOf(const ClientError& error) {
  if (error.reason == kFileNotFound || error.reason == kFileUnreadable) return kExitInputFailed;
  switch (error.code) {
    case absl::StatusCode::kUnavailable:
      return kExitNoServer;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return kExitCredentials;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      break;
  }
  const bool no_model = error.reason == ReasonName(Reason::kModelNotFound) ||
                        error.reason == ReasonName(Reason::kTaskUnsupported);
  return no_model ? kExitNoModel : kExitInputFailed;
}

}  // namespace scanline::cli
