#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// Where a server is, and who said so: messages name both.
struct ServerAddress {
  std::string host = "127.0.0.1";
  int port = 50051;
  std::string origin = "default";  // "default", "--server", "SCANLINE_SERVER", "scanline.toml"

  std::string host_port() const;  // "127.0.0.1:50051", "[::1]:50051"
};

// `HOST:PORT` or `[IPV6]:PORT`. A URL, a missing port and a port outside 1..65535 are
// INVALID_ARGUMENT.
absl::StatusOr<ServerAddress> ParseServerAddress(absl::string_view text, absl::string_view origin);

}  // namespace scanline
