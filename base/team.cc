#include "base/team.h"

#include <utility>

namespace scanline {
namespace {

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A pause is 40 to 140 clocks: some tens of microseconds.
constexpr int kSpins = 3000;

}  // namespace

Barrier::Barrier(int parties)
    : parties_(parties),
      spins_(parties <= static_cast<int>(std::thread::hardware_concurrency()) ? kSpins : 0) {}

void Barrier::Wait() {
  const uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_.load()) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  for (int i = 0; i < spins_; ++i) {
    if (round_.load(std::memory_order_acquire) != round) return;
    Pause();
  }
  round_.wait(round, std::memory_order_acquire);
}

Team::Team(int size) : start_(size), end_(size) {
  try {
    for (int rank = 1; rank < size; ++rank) threads_.emplace_back([this, rank] { Serve(rank); });
  } catch (...) {
    start_.Expect(this->size());
    SendHome();
    throw;
  }
}

Team::~Team() { SendHome(); }

void Team::SendHome() {
  body_ = nullptr;
  if (!threads_.empty()) start_.Wait();
  for (std::thread& thread : threads_) thread.join();
}

void Team::Serve(int rank) {
  while (true) {
    start_.Wait();
    if (body_ == nullptr) return;
    Call(rank);
    end_.Wait();
  }
}

void Team::Call(int rank) {
  try {
    (*body_)(rank);
  } catch (...) {
    if (!thrown_.exchange(true)) exception_ = std::current_exception();
  }
}

void Team::Run(const std::function<void(int)>& body) {
  if (threads_.empty()) return body(0);
  body_ = &body;
  start_.Wait();
  Call(0);
  end_.Wait();
  if (thrown_.exchange(false)) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void Team::ForEach(int count, const std::function<void(int, int)>& body) {
  next_.store(0, std::memory_order_relaxed);
  Run([&](int rank) {
    for (int i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) body(i, rank);
  });
}

}  // namespace scanline
