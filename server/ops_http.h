#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace scanline {

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// The operations port: one function answers GET of every path. Runs on threads of its own.
class OpsHttp {
 public:
  using Handler = std::function<HttpAnswer(const std::string& path)>;

  // `address` is HOST:PORT, port 0 for any. Errors: UNAVAILABLE where it cannot listen.
  static absl::StatusOr<std::unique_ptr<OpsHttp>> Start(const std::string& address,
                                                        Handler handler);
  ~OpsHttp();

  int port() const;

 private:
  struct Impl;
  explicit OpsHttp(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace scanline
