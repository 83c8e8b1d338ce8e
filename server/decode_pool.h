#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "server/batcher.h"

namespace scanline {

// Threads that pull single jobs of `queue` and hand each to `work`, until the queue is closed.
class DecodePool {
 public:
  using Work = std::function<void(JobPtr)>;

  DecodePool(int threads, Batcher* queue, Work work);
  ~DecodePool();  // joins: the queue must be closed

  int busy() const { return busy_.load(std::memory_order_relaxed); }

 private:
  void RunDecoder();

  Batcher* const queue_;
  const Work work_;
  std::atomic<int> busy_{0};
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace scanline
