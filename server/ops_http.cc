#include "server/ops_http.h"

#include <civetweb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace scanline {
namespace {

const char* StatusText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Send(mg_connection* connection, const HttpAnswer& answer, bool with_body) {
  const std::string head = absl::StrFormat(
      "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
      answer.status, StatusText(answer.status), answer.content_type, answer.body.size());
  mg_write(connection, head.data(), head.size());
  if (with_body) mg_write(connection, answer.body.data(), answer.body.size());
}

// Opens a connection to the port of this machine and closes it again.
void Knock(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  close(fd);
}

}  // namespace

struct OpsHttp::Impl {
  Handler handler;
  mg_context* context = nullptr;

  // Answers every request by itself (1: done), so that civetweb never looks for a file.
  static int Begin(mg_connection* connection) {
    const mg_request_info* const info = mg_get_request_info(connection);
    const auto* const self = static_cast<const Impl*>(info->user_data);
    const std::string method = info->request_method;
    if (method != "GET" && method != "HEAD") {
      Send(connection, {.status = 405, .body = "only GET and HEAD are answered\n"}, true);
    } else {
      Send(connection, self->handler(info->local_uri), method == "GET");
    }
    return 1;
  }
};

OpsHttp::OpsHttp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

// civetweb looks at its stop flag every two seconds, or when somebody connects: so somebody does.
OpsHttp::~OpsHttp() {
  const int own_port = port();
  std::atomic<bool> stopped{false};
  std::thread stopper([&] {
    mg_stop(impl_->context);
    stopped.store(true);
  });
  while (!stopped.load()) {
    Knock(own_port);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stopper.join();
}

absl::StatusOr<std::unique_ptr<OpsHttp>> OpsHttp::Start(const std::string& address,
                                                        Handler handler) {
  auto impl = std::make_unique<Impl>();
  impl->handler = std::move(handler);
  mg_callbacks callbacks{};
  callbacks.begin_request = &Impl::Begin;
  // A thread belongs to a connection until it has sent its request: so that a few that send none
  // (a half-open prober, a scraper that hangs) keep no probe waiting, there are many threads, which
  // cost little while they sleep, and a connection has them for a second at most.
  const char* options[] = {"listening_ports",
                           address.c_str(),
                           "num_threads",
                           "128",
                           "connection_queue",
                           "256",
                           "request_timeout_ms",
                           "1000",
                           "enable_keep_alive",
                           "no",
                           "decode_url",
                           "no",
                           "enable_directory_listing",
                           "no",
                           nullptr};
  impl->context = mg_start(&callbacks, impl.get(), options);
  if (impl->context == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, " for the operations pages; is it taken?"));
  }
  return std::unique_ptr<OpsHttp>(new OpsHttp(std::move(impl)));
}

int OpsHttp::port() const {
  std::array<mg_server_port, 4> ports{};
  const int count = mg_get_server_ports(impl_->context, ports.size(), ports.data());
  return count > 0 ? ports[0].port : 0;
}

}  // namespace scanline
