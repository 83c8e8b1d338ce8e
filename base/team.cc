#include "base/team.h"

#include <sched.h>

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

Barrier::Barrier(int parties, int threads)
    : parties_(parties),
      spins_(threads <= static_cast<int>(std::thread::hardware_concurrency()) ? kSpins : 0) {}

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

Team::Team(int size) : start_(size, size), end_(size, size), cores_(size) {
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
    PartFromOthers(rank);
    Call(rank);
    end_.Wait();
  }
}

// Leaves a core that a lower rank is on. Both may go anywhere afterwards: nobody is pinned, since
// on a shared machine the system knows better than we do which core is free.
void Team::PartFromOthers(int rank) {
  const int core = sched_getcpu();
  cores_[rank].store(core, std::memory_order_relaxed);
  cpu_set_t allowed;
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (int other = 0; other < rank; ++other) {
    CPU_SET(cores_[other].load(std::memory_order_relaxed), &taken);
  }
  if (!CPU_ISSET(core, &taken) || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t elsewhere;
  CPU_AND(&taken, &taken, &allowed);
  CPU_XOR(&elsewhere, &allowed, &taken);
  if (CPU_COUNT(&elsewhere) == 0) return;
  if (sched_setaffinity(0, sizeof(elsewhere), &elsewhere) == 0) {
    sched_setaffinity(0, sizeof(allowed), &allowed);
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
  cores_[0].store(sched_getcpu(), std::memory_order_relaxed);
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
