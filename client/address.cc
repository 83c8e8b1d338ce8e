#include "client/address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace scanline {
namespace {

absl::Status Refuse(absl::string_view text, absl::string_view origin, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("expected HOST:PORT, found \"", text, "\" (",
                                                 origin, "): ", why, ", e.g. 127.0.0.1:50051"));
}

}  // namespace

std::string ServerAddress::host_port() const {
  const bool ipv6 = absl::StrContains(host, ':');
  return ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<ServerAddress> ParseServerAddress(absl::string_view text, absl::string_view origin) {
  if (absl::StrContains(text, "://")) return Refuse(text, origin, "leave out the scheme");
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || absl::EndsWith(text, "]")) {
    return Refuse(text, origin, "the port is missing");
  }
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty()) return Refuse(text, origin, "the host is missing");
  if (!bracketed && absl::StrContains(host, ':')) {
    return Refuse(text, origin, "an IPv6 address goes in brackets");
  }
  if (host.find_first_of("/[] \t") != absl::string_view::npos) {
    return Refuse(text, origin, "the host is not a name or an address");
  }
  int port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return Refuse(text, origin, "the port is not a number from 1 to 65535");
  }
  return ServerAddress{std::string(host), port, std::string(origin)};
}

}  // namespace scanline
