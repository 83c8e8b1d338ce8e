#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/address.h"

namespace scanline {

// Who answers on a port, by the first bytes that it sends after an HTTP/2 preface.
enum class Greeting { kNothing, kHttp2, kHttp1, kTls, kOther };
Greeting ReadGreeting(absl::string_view bytes);

// For after gRPC failed to connect: looks the host up, connects and listens, and returns the
// UNAVAILABLE error that says what is wrong (HOST_NOT_FOUND, CONNECTION_REFUSED, WRONG_PROTOCOL,
// CONNECTION_FAILED). `grpc_message` is told where the port speaks HTTP/2 after all.
absl::Status DiagnoseConnection(const ServerAddress& address, absl::Duration timeout,
                                absl::string_view grpc_message);

}  // namespace scanline
