#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace scanline {

// Waits for `parties` threads, again and again. Spins for a moment, since a forward pass meets
// hundreds of times, then sleeps: on a shared machine the thread that is waited for may not be
// running, and a spinning one would take its place. More threads than cores do not spin at all.
class Barrier {
 public:
  // `threads`: of all that run beside each other, these parties among them.
  Barrier(int parties, int threads);
  void Wait();
  void Expect(int parties) { parties_.store(parties); }  // of the round under way

 private:
  std::atomic<int> parties_;
  const int spins_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> round_{0};
};

// The threads of one forward pass: the caller and `size() - 1` of its own, asleep between calls.
// They run on cores of their own where there are any: a system may leave threads that sleep and
// wake in turn on one core for good, and there two take twice the time of one.
class Team {
 public:
  // Throws std::system_error where a thread cannot be made.
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // body(rank) on every thread, rank 0 being the caller; returns when all have returned, and then
  // throws the first of what they threw. Not reentrant.
  void Run(const std::function<void(int)>& body);

  // body(item, rank) for every item of [0, count), whichever thread is free.
  void ForEach(int count, const std::function<void(int, int)>& body);

 private:
  void Serve(int rank);
  void PartFromOthers(int rank);
  void Call(int rank);
  void SendHome();

  Barrier start_;
  Barrier end_;
  const std::function<void(int)>* body_ = nullptr;  // none: go home
  std::vector<std::atomic<int>> cores_;  // where each rank was when it began the call under way
  std::atomic<int> next_{0};
  std::atomic<bool> thrown_{false};
  std::exception_ptr exception_;      // of who set thrown_
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace scanline
