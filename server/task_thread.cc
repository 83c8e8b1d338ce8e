#include "server/task_thread.h"

#include "absl/time/clock.h"

namespace scanline {

TaskThread::~TaskThread() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void TaskThread::Post(Task task) {
  MutexLock lock(mu_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void TaskThread::PostAt(absl::Time when, Task task) {
  MutexLock lock(mu_);
  timed_.emplace(when, std::move(task));
  changed_.notify_one();
}

void TaskThread::Run() {
  while (true) {
    std::vector<Task> due;
    {
      MutexLock lock(mu_);
      while (!stopped_ && tasks_.empty() &&
             (timed_.empty() || timed_.begin()->first > absl::Now())) {
        if (timed_.empty()) {
          changed_.wait(lock.native());
        } else {
          changed_.wait_until(lock.native(), absl::ToChronoTime(timed_.begin()->first));
        }
      }
      if (stopped_) return;
      due.swap(tasks_);
      const auto later = timed_.upper_bound(absl::Now());
      for (auto task = timed_.begin(); task != later; ++task) {
        due.push_back(std::move(task->second));
      }
      timed_.erase(timed_.begin(), later);
    }
    for (Task& task : due) task();
  }
}

}  // namespace scanline
