#pragma once

#include <atomic>

#include "base/mutex.h"
#include "client/client.h"

namespace scanline::cli {

// What Ctrl-C and SIGTERM do: the first ends the calls of the watched client, so that what is
// finished can still be printed; a second one, or one while no client is watched, exits with 130.
class Interrupt {
 public:
  // Before any other thread starts: they inherit the blocked signals.
  static Interrupt& Install();

  const std::atomic<bool>& raised() const { return raised_; }
  void Watch(Client* client);  // nullptr: none any more

 private:
  void Listen();

  std::atomic<bool> raised_{false};
  Mutex mu_;
  Client* client_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace scanline::cli
