#include "server/decode_pool.h"

#include <utility>

namespace scanline {

DecodePool::DecodePool(int threads, Batcher* queue, Work work)
    : queue_(queue), work_(std::move(work)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { RunDecoder(); });
}

DecodePool::~DecodePool() {
  for (std::thread& thread : threads_) thread.join();
}

void DecodePool::RunDecoder() {
  while (true) {
    std::vector<JobPtr> jobs = queue_->Pull();
    if (jobs.empty()) return;
    busy_.fetch_add(1, std::memory_order_relaxed);
    for (JobPtr& job : jobs) work_(std::move(job));
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace scanline
