#pragma once

#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace scanline {

// One thread that runs what it is given: at once and in order, or at a time. For what must neither
// block gRPC's threads nor have a thread of its own. Whoever posts bounds how much. What is left at
// the end is dropped.
class TaskThread {
 public:
  using Task = std::function<void()>;

  TaskThread() : thread_([this] { Run(); }) {}
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void Post(Task task);
  void PostAt(absl::Time when, Task task);

 private:
  void Run();

  Mutex mu_;
  CondVar changed_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mu_);
  std::multimap<absl::Time, Task> timed_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace scanline
