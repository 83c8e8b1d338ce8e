#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/address.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::testing {

// What an upload said and sent.
struct UploadSeen {
  uint64_t bytes = 0;     // that came
  uint64_t declared = 0;  // that were to come
  bool right_digest = false;
};

// A server for tests of the client alone: the real contract on a real socket (port 0), with answers
// that a clip's own text asks for. A clip is one or more words:
//   walk      walking 0.91, running 0.05
//   run       the same, the other way round
//   windows   the same, in two windows
//   bad, task, auth, draining   the error VIDEO_UNREADABLE, TASK_UNSUPPORTED, AUTH_INVALID,
//   DRAINING busy N    QUEUE_FULL with a push-back of 10 ms for the first N attempts, then as walk
//   slow      as walk, after 150 ms
//   stuck     no answer until the client gives up
// EmbedText gives (bytes, place) of each text, or what its first text asks for: bad, busy N, ...
class ServiceDouble {
 public:
  ServiceDouble();
  ~ServiceDouble();

  ServerAddress address() const;
  std::string host_port() const { return address().host_port(); }
  void SetServing(bool serving);
  void SetWeights(const std::string& sha256);  // of the model, before the first call
  // From now on the model has TASK_EMBED with vectors of two numbers: (bytes, 1) of a clip, and of
  // each of its windows (bytes, window). Before the first call.
  void SetEmbeds();
  // From now on requests with windows are FIELD_INVALID, as of a model that has its own. Before the
  // first call.
  void RefuseWindows();
  // From now on the model has TASK_DETECT_ACTIONS: somebody who walks (0.9) from the left half at
  // the first look to the right half at the last, track 1 where linked, and is not seen between (25
  // frames a second, to 0.5 s; looks at 0, 0.12 and 0.2 s unless an interval is asked for, which
  // leaves out half an interval at either end); of given boxes each one, who runs, at its time (0
  // without one); nobody in a clip that begins with "nobody". Before the first call.
  void SetDetects();
  // From now on people do `count` things, of which 0.9 is the surest. Before the first call.
  void SetActions(int count);
  // From now on a request of more boxes is FIELD_INVALID. Before the first call.
  void SetMostBoxes(int most);
  // Calls `hook` whenever a clip has arrived, before it is answered. Before the first call.
  void OnClip(std::function<void()> hook);
  int attempts() const;                // calls with clips or texts that arrived
  int most_at_once() const;            // AnalyzeClip calls under way at one time
  v1::AnalysisSpec last_spec() const;  // of the last one
  UploadSeen last_upload() const;      // of the last upload that was read to its end
  void Shutdown();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scanline::testing
