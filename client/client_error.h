#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/error.h"

namespace grpc {
class Status;
}

namespace scanline {

// What a failed call says, for programs: branch on `reason`, show `message`. Reasons of the server
// are those of docs/errors.md; the client's own are the constants below. A newer server may name
// one that this client has never heard of, so `reason` is a string.
struct ClientError {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string reason;  // empty: whoever answered gave none
  std::string message;
  Metadata metadata;
};

inline constexpr char kHostNotFound[] = "HOST_NOT_FOUND";           // UNAVAILABLE
inline constexpr char kConnectionRefused[] = "CONNECTION_REFUSED";  // UNAVAILABLE
inline constexpr char kConnectionFailed[] = "CONNECTION_FAILED";    // UNAVAILABLE: no answer, reset
inline constexpr char kWrongProtocol[] = "WRONG_PROTOCOL";          // UNAVAILABLE: HTTP/1, TLS, ...
inline constexpr char kServerNotReady[] = "SERVER_NOT_READY";       // UNAVAILABLE
inline constexpr char kNoAnswerInTime[] = "NO_ANSWER_IN_TIME";      // DEADLINE_EXCEEDED

// Every error that Client returns carries its ClientError; for any other status `reason` is empty.
ClientError ErrorOf(const absl::Status& status);
absl::Status MakeClientError(absl::StatusCode code, absl::string_view reason,
                             absl::string_view message, Metadata metadata = {});

// The status of a finished call, with what google.rpc.ErrorInfo in its details says.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace scanline
