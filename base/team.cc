#include "base/team.h"

namespace scanline {
namespace {

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void Barrier::Wait() {
  constexpr int kSpins = 4000;  // some tens of microseconds
  const uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  for (int i = 0; i < kSpins; ++i) {
    if (round_.load(std::memory_order_acquire) != round) return;
    Pause();
  }
  round_.wait(round, std::memory_order_acquire);
}

Team::Team(int size) : start_(size), end_(size) {
  for (int rank = 1; rank < size; ++rank) threads_.emplace_back([this, rank] { Serve(rank); });
}

Team::~Team() {
  body_ = nullptr;
  if (!threads_.empty()) start_.Wait();
  for (std::thread& thread : threads_) thread.join();
}

void Team::Serve(int rank) {
  while (true) {
    start_.Wait();
    if (body_ == nullptr) return;
    (*body_)(rank);
    end_.Wait();
  }
}

void Team::Run(const std::function<void(int)>& body) {
  if (threads_.empty()) return body(0);
  body_ = &body;
  start_.Wait();
  body(0);
  end_.Wait();
}

void Team::ForEach(int count, const std::function<void(int, int)>& body) {
  next_.store(0, std::memory_order_relaxed);
  Run([&](int rank) {
    for (int i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) body(i, rank);
  });
}

}  // namespace scanline
