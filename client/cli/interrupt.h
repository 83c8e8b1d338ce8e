#pragma once

#include <atomic>

#include "base/mutex.h"
#include "client/client.h"

namespace scanline::cli {

// What Ctrl-C and SIGTERM do: the first raises the flag and ends the calls of the watched client,
// so that what is finished can still be printed and what is half done is taken away; a second one,
// or one while nobody watches, exits with 130.
class Interrupt {
 public:
  // Before any other thread starts: they inherit the blocked signals.
  static Interrupt& Install();

  const std::atomic<bool>& raised() const { return raised_; }
  void Watch(Client* client);  // nullptr: none any more
  // For work without a client: the first signal only raises the flag.
  void WatchFlag();

 private:
  void Listen();

  std::atomic<bool> raised_{false};
  Mutex mu_;
  Client* client_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool flag_watched_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace scanline::cli
