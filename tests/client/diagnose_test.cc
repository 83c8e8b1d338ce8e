#include "client/diagnose.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "client/client.h"
#include "client/client_error.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;

// A socket on a port of its own that gives every visitor `greeting` and hangs up; where there is
// none, it takes no visitors.
class Greeter {
 public:
  explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    if (greeting_.empty()) return;
    listen(fd_, 8);
    thread_ = std::thread([this] {
      for (int visitor; (visitor = accept(fd_, nullptr, nullptr)) >= 0; close(visitor)) {
        char buffer[256];
        if (recv(visitor, buffer, sizeof buffer, 0) < 0) continue;
        send(visitor, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~Greeter() {
    shutdown(fd_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(fd_);
  }

  ServerAddress address() const { return {"127.0.0.1", port_, "SCANLINE_SERVER"}; }

 private:
  std::string greeting_;
  int fd_ = -1;
  int port_ = 0;
  std::thread thread_;
};

ClientError ConnectError(const ServerAddress& address) {
  const auto client = Client::Connect(address, {.connect_timeout = absl::Seconds(3)});
  return client.ok() ? ClientError{} : ErrorOf(client.status());
}

TEST(ReadGreeting, TellsProtocolsApart) {
  EXPECT_EQ(ReadGreeting(""), Greeting::kNothing);
  EXPECT_EQ(ReadGreeting("HTTP/1.1 400 Bad Request"), Greeting::kHttp1);
  EXPECT_EQ(ReadGreeting("HTTP/2.0 400 Bad Request\r\n"), Greeting::kHttp1) << "civetweb's";
  EXPECT_EQ(ReadGreeting(absl::string_view("\x15\x03\x03\0\x02\x02\x46", 7)), Greeting::kTls);
  EXPECT_EQ(ReadGreeting(absl::string_view("\0\0\0\x04\0\0\0\0\0", 9)), Greeting::kHttp2);
  EXPECT_EQ(ReadGreeting("SSH-2.0-OpenSSH_9.2"), Greeting::kOther);
}

TEST(Connect, NamesTheAddressAndItsOriginWhereNobodyListens) {
  const Greeter nobody("");
  const ClientError error = ConnectError(nobody.address());
  EXPECT_EQ(error.reason, kConnectionRefused);
  EXPECT_EQ(error.message, "no server at " + nobody.address().host_port() +
                               " (SCANLINE_SERVER): connection refused");
}

TEST(Connect, SaysThatTheHostNameDoesNotResolve) {
  // RFC 6761: names under .invalid never resolve.
  const ClientError error = ConnectError({"nobody.invalid", 50051, "--server"});
  EXPECT_EQ(error.reason, kHostNotFound);
  EXPECT_THAT(error.message, HasSubstr("nobody.invalid:50051 (--server)"));
}

TEST(Connect, SaysThatThePortSpeaksHttp1) {
  const Greeter web("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  const ClientError error = ConnectError(web.address());
  EXPECT_EQ(error.reason, kWrongProtocol);
  EXPECT_THAT(error.message, HasSubstr("HTTP/1 server"));
}

TEST(Connect, SaysThatThePortSpeaksTls) {
  const Greeter tls(std::string("\x15\x03\x03\0\x02\x02\x46", 7));
  const ClientError error = ConnectError(tls.address());
  EXPECT_EQ(error.reason, kWrongProtocol);
  EXPECT_THAT(error.message, HasSubstr("TLS"));
}

TEST(Connect, SaysThatThePortSpeaksSomethingElse) {
  const Greeter ssh("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
  EXPECT_EQ(ConnectError(ssh.address()).reason, kWrongProtocol);
}

}  // namespace
}  // namespace scanline
