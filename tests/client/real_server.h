#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "tests/support/process.h"

namespace scanline::testing {

// The built scanline-server with its default model, on ports of its own.
class RealServer {
 public:
  explicit RealServer(const std::vector<std::string>& flags = {})
      : process_(Command(flags)), ready_(process_.WaitForText("ready grpc_port=")) {}

  bool ready() const { return ready_; }

  std::string host_port() const { return Address("grpc_port="); }
  std::string ops_host_port() const { return Address("ops_port="); }

  void Signal(int signal) const { process_.Signal(signal); }

  ProcessResult Stop() {
    process_.Signal(SIGTERM);
    return process_.Finish();
  }

 private:
  std::string Address(const std::string& mark) const {
    const std::string log = process_.text();
    const size_t at = log.find(mark) + mark.size();
    return "127.0.0.1:" + log.substr(at, log.find_first_not_of("0123456789", at) - at);
  }

  static std::vector<std::string> Command(const std::vector<std::string>& flags) {
    std::vector<std::string> argv = {SCANLINE_BIN_DIR "/scanline-server",
                                     "--listen=127.0.0.1:0",
                                     "--ops-listen=127.0.0.1:0",
                                     "--lame-duck=0",
                                     "--model",
                                     SCANLINE_SOURCE_DIR "/assets/models/tagger24"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    return argv;
  }

  Process process_;
  bool ready_;
};

}  // namespace scanline::testing
