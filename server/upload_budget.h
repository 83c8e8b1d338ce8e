#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "server/admission.h"

namespace scanline {

struct UploadLimits {
  int64_t max_bytes = int64_t{2} << 30;      // of one upload
  int64_t memory_bytes = int64_t{32} << 20;  // of one upload; more goes to a file
  int64_t total_bytes = int64_t{8} << 30;    // that all uploads keep, in memory and in files
  std::string spill_folder;                  // of the files; "": the system's for temporary ones
};

// What all uploads together keep. Memory counts among the clips in flight (Admission); where that
// is full an upload goes to its file at once. Where `total_bytes` are kept no upload is read on
// until some are given back, but for the oldest one, so that one always gets on; the total can thus
// be passed by one upload. Thread-safe.
class UploadBudget {
 public:
  using OnRoom = std::function<void()>;
  struct Figures {
    int64_t uploads = 0;
    int64_t memory_bytes = 0;
    int64_t file_bytes = 0;
  };

  // `admission` is borrowed.
  UploadBudget(const UploadLimits& limits, Admission* admission)
      : limits_(limits), admission_(admission) {}

  const UploadLimits& limits() const { return limits_; }

  int64_t Enter();  // a new upload's number
  void Leave(int64_t upload);

  // Whether upload may receive more now. If not, `on_room` is called once it should ask again, from
  // any thread; it must not block.
  bool MayReceive(int64_t upload, OnRoom on_room);

  bool TryHoldMemory(int64_t bytes);  // false: go to the file
  void GiveBackMemory(int64_t bytes);
  void HoldFile(int64_t bytes);
  void GiveBackFile(int64_t bytes);

  Figures figures() const;

 private:
  std::map<int64_t, OnRoom> TakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const UploadLimits limits_;
  Admission* const admission_;
  mutable Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int64_t, OnRoom> uploads_ ABSL_GUARDED_BY(mu_);  // by number; null: not waiting
  int64_t memory_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t file_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace scanline
