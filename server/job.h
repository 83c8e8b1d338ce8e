#pragma once

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "base/check.h"
#include "base/clip.h"
#include "server/admission.h"
#include "server/request.h"

namespace scanline {

enum class Stage { kReceive, kDecodeQueue, kDecode, kBatchQueue, kInference };

// A request on its way through the pipeline. It has one owner at a time and moves from stage to
// stage; whoever owns it must answer it before letting it go.
struct Job {
  Job(Request request_in, Done done_in)
      : request(std::move(request_in)), done(std::move(done_in)) {}
  ~Job() { SCANLINE_CHECK(done == nullptr); }

  Request request;
  Done done;  // taken by Pipeline::Finish
  Admission::Ticket ticket;
  int64_t input_bytes = 0;  // received: of the clip and of the texts
  std::string method;       // the RPC's name
  Stage stage = Stage::kReceive;
  absl::Time entered;  // the present stage
  Timing timing;
  Clip clip;
  ClipPeople people;
  bool decoded = false;
  int64_t cost = 0;  // token equivalents of its run (server/cost.h)
  Usage usage;

  WorkKind kind() const { return request.has_clip() ? WorkKind::kClip : WorkKind::kTexts; }

  // Ends the present stage at `now`, keeping how long it took, and begins `next`.
  void Enter(Stage next, absl::Time now) {
    EndStage(now);
    stage = next;
    entered = now;
  }
  void EndStage(absl::Time now) {
    std::optional<absl::Duration>* const kept[] = {&timing.receive, &timing.decode_queue,
                                                   &timing.decode, &timing.batch_queue,
                                                   &timing.inference};
    *kept[static_cast<int>(stage)] = now - entered;
  }
};

using JobPtr = std::unique_ptr<Job>;

}  // namespace scanline
