#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace scanline {

// The status as clients get it: code, message, and in grpc-status-details-bin a google.rpc.Status
// with ErrorInfo (reason, domain "scanline", metadata) and what docs/errors.md names for the
// reason. An error without a reason is a bug in this server: INTERNAL.
grpc::Status ToGrpcStatus(const absl::Status& status);

// When the client should try again, for the reasons where it should.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// ToGrpcStatus of a call that ends now: with the trailer that tells gRPC's own retries how long to
// wait, and a line in the log where the fault is the server's.
grpc::Status EndOfCall(const absl::Status& status, absl::string_view method,
                       grpc::CallbackServerContext* context);

}  // namespace scanline
