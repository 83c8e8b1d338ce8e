#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "client/cli/args.h"

namespace scanline::cli {

// "5 of 14  [=====>       ]  36 %  1 failed", for a bar of a terminal and for a plain line.
std::string ProgressText(int done, int failed, int total, bool with_bar);

// "sent 312 of 2048 MB  [===>                    ]  15 %"; without a total "sent 312 MB"; when all
// is sent "sent 2048 MB, waiting for the answer".
std::string SentText(uint64_t sent, uint64_t total, bool with_bar);

// How far the run is, on standard error: a line that is drawn over on a terminal, elsewhere one
// plain line every ten seconds (or each input, where it is asked for always). Uploads show on the
// terminal's line too, by their bytes, all of them together. Thread-safe.
class Progress {
 public:
  Progress(When when, bool is_tty, int total, FILE* out = stderr);

  void Update(int done, int failed, absl::Time now);
  // Before anything else is written to the terminal; nothing is drawn until Update.
  void Hide();

  int NewUpload();
  void Sent(int upload, uint64_t sent, uint64_t total, absl::Time now);
  void EndUpload(int upload);

 private:
  enum class Mode { kOff, kUploads, kBar, kLines, kEveryLine };
  struct Bytes {
    uint64_t sent = 0;
    uint64_t total = 0;
  };

  void Draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Erase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string UploadsText() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Mode mode_;
  const int total_;
  FILE* const out_;
  Mutex mu_;
  int done_ ABSL_GUARDED_BY(mu_) = 0;
  int failed_ ABSL_GUARDED_BY(mu_) = 0;
  int next_upload_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int, Bytes> uploads_ ABSL_GUARDED_BY(mu_);  // that have sent something
  absl::Time last_line_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Time last_drawn_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  bool hidden_ ABSL_GUARDED_BY(mu_) = false;
  bool shown_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace scanline::cli
