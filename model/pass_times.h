#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace scanline {

// Where the time of forward passes went, in nanoseconds of all threads together.
struct PassTimes {
  std::atomic<int64_t> products{0};  // matrix products
  std::atomic<int64_t> scan{0};
  std::atomic<int64_t> conv{0};
  std::atomic<int64_t> other{0};  // norms, gates, embedding
};

// Adds the time of a scope to `to`; nothing where that is null.
class Timed {
 public:
  explicit Timed(std::atomic<int64_t>* to) : to_(to) {
    if (to_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~Timed() {
    if (to_ == nullptr) return;
    const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - begin_;
    to_->fetch_add(spent.count(), std::memory_order_relaxed);
  }
  Timed(const Timed&) = delete;

 private:
  std::atomic<int64_t>* to_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace scanline
