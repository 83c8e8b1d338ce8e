#include "client/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

#include "client/cli/exit_code.h"

namespace scanline::cli {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Interrupt& Interrupt::Install() {
  // Never destroyed: its thread waits for a signal until the process ends.
  static Interrupt* const interrupt = [] {
    const sigset_t signals = Signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    auto* made = new Interrupt;
    std::thread([made] { made->Listen(); }).detach();
    return made;
  }();
  return *interrupt;
}

void Interrupt::Listen() {
  const sigset_t signals = Signals();
  for (int signal = 0; sigwait(&signals, &signal) == 0;) {
    MutexLock lock(mu_);
    if ((client_ == nullptr && !flag_watched_) || raised_) _exit(kExitInterrupted);
    raised_ = true;
    if (client_ != nullptr) client_->CancelAll();
  }
}

void Interrupt::Watch(Client* client) {
  MutexLock lock(mu_);
  client_ = client;
}

void Interrupt::WatchFlag() {
  MutexLock lock(mu_);
  flag_watched_ = true;
}

}  // namespace scanline::cli
