#include "client/diagnose.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/client_error.h"

namespace scanline {
namespace {

// RFC 9113 section 3.4: the client's preface, then an empty SETTINGS frame.
constexpr absl::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 33);

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

class Socket {
 public:
  explicit Socket(const addrinfo& a)
      : fd_(socket(a.ai_family, a.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a.ai_protocol)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool WaitFor(int fd, short events, absl::Duration timeout) {
  pollfd wait{fd, events, 0};
  return poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) > 0;
}

// 0, or the errno of the attempt.
int ConnectSocket(int fd, const addrinfo& a, absl::Duration timeout) {
  if (fd < 0) return errno;
  if (connect(fd, a.ai_addr, a.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!WaitFor(fd, POLLOUT, timeout)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string FirstBytes(int fd, absl::Duration timeout) {
  if (send(fd, kPreface.data(), kPreface.size(), MSG_NOSIGNAL) < 0) return "";
  char buffer[64];
  if (!WaitFor(fd, POLLIN, timeout)) return "";
  const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
  return got > 0 ? std::string(buffer, got) : "";
}

absl::Status Unavailable(absl::string_view reason, const ServerAddress& address,
                         absl::string_view why) {
  return MakeClientError(
      absl::StatusCode::kUnavailable, reason,
      absl::StrCat("no server at ", address.host_port(), " (", address.origin, "): ", why),
      {{"address", address.host_port()}, {"origin", address.origin}});
}

absl::Status OfGreeting(Greeting greeting, const ServerAddress& address, absl::string_view grpc) {
  switch (greeting) {
    case Greeting::kHttp1:
      return Unavailable(kWrongProtocol, address,
                         "an HTTP/1 server answers there, not gRPC; is it the ops port?");
    case Greeting::kTls:
      return Unavailable(kWrongProtocol, address,
                         "the port speaks TLS, and this client connects without TLS");
    case Greeting::kOther:
      return Unavailable(kWrongProtocol, address, "what answers there does not speak gRPC");
    case Greeting::kNothing:
      return Unavailable(kConnectionFailed, address,
                         "the connection opened, but nothing that speaks gRPC answered");
    case Greeting::kHttp2:
      return Unavailable(kConnectionFailed, address, grpc);
  }
  return Unavailable(kConnectionFailed, address, grpc);
}

}  // namespace

Greeting ReadGreeting(absl::string_view bytes) {
  if (bytes.empty()) return Greeting::kNothing;
  // Some answer an unknown version in that version's name: "HTTP/2.0 400 Bad Request".
  if (absl::StartsWith(bytes, "HTTP/")) return Greeting::kHttp1;
  // TLS record header (RFC 8446 section 5.1): alert (21) or handshake (22), version 3.x.
  if (bytes.size() >= 2 && (bytes[0] == 21 || bytes[0] == 22) && bytes[1] == 3) {
    return Greeting::kTls;
  }
  // A server begins with SETTINGS, type 4, or gives up with GOAWAY, type 7 (RFC 9113).
  if (bytes.size() >= 9 && (bytes[3] == 4 || bytes[3] == 7)) return Greeting::kHttp2;
  return Greeting::kOther;
}

absl::Status DiagnoseConnection(const ServerAddress& address, absl::Duration timeout,
                                absl::string_view grpc_message) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = absl::StrCat(address.port);
  if (const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list)) {
    return Unavailable(kHostNotFound, address,
                       absl::StrCat("the host name does not resolve (", gai_strerror(error), ")"));
  }
  const Addresses addresses(list);
  int error = 0;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    const Socket socket(*a);
    error = ConnectSocket(socket.fd(), *a, timeout);
    if (error == 0) {
      return OfGreeting(ReadGreeting(FirstBytes(socket.fd(), timeout)), address, grpc_message);
    }
  }
  if (error == ECONNREFUSED) return Unavailable(kConnectionRefused, address, "connection refused");
  return Unavailable(kConnectionFailed, address, std::strerror(error));
}

}  // namespace scanline
