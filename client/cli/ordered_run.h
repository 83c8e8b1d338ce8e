#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace scanline::cli {

// Runs `work(i)` for i = 0..count-1 on up to `jobs` threads and hands the results to `emit(i,
// result)` on the calling thread, in order of i. A slow item holds the ones after it back: at most
// 2 * jobs items are under way or waiting. Once `stop` is true no item begins; those under way are
// still emitted.
template <typename Result, typename Work, typename Emit>
void RunInOrder(int count, int jobs, const std::atomic<bool>& stop, const Work& work,
                const Emit& emit) {
  Mutex mu;
  CondVar changed;
  std::vector<std::optional<Result>> done(static_cast<size_t>(count));
  int next = 0;     // first item not begun
  int emitted = 0;  // items handed over
  const auto worker = [&] {
    MutexLock lock(mu);
    for (;;) {
      changed.wait(lock.native(),
                   [&] { return stop || next == count || next < emitted + 2 * jobs; });
      if (stop || next == count) return;
      const auto item = static_cast<size_t>(next++);
      lock.native().unlock();
      Result result = work(static_cast<int>(item));
      lock.native().lock();
      done[item] = std::move(result);
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::min(jobs, count); ++i) threads.emplace_back(worker);
  {
    MutexLock lock(mu);
    while (emitted < count) {
      const auto item = static_cast<size_t>(emitted);
      // `stop` may be raised without a notice, by an interrupt while every thread is at work; the
      // work that it ends gives the notice.
      changed.wait(lock.native(),
                   [&] { return done[item].has_value() || (stop && next <= emitted); });
      if (!done[item].has_value()) break;
      Result result = *std::exchange(done[item], std::nullopt);
      lock.native().unlock();
      emit(static_cast<int>(item), result);
      lock.native().lock();
      ++emitted;
      changed.notify_all();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace scanline::cli
