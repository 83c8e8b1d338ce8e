#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "model/predictor.h"
#include "server/served_model.h"
#include "server/upload.h"

// A request and its answer as plain data. convert.cc makes the first of a message and a message of
// the second; nothing between knows gRPC.

namespace scanline {

// Pictures decoded by the caller: upright RGB, [count, height, width, 3].
struct FrameInput {
  int count = 0;
  int width = 0;
  int height = 0;
  std::string rgb;
  std::vector<double> offsets_seconds;  // one a frame, or none
};

// A normalised video, [3, frames, height, width] of little-endian fp32.
struct TensorInput {
  int frames = 0;
  int width = 0;
  int height = 0;
  std::string values;
};

using UploadPtr = std::shared_ptr<Upload>;

// What the answer shall hold.
struct AnswerOptions {
  int top_k = 5;
  float min_score = 0;  // classes below it are left out
  bool include_logits = false;
  bool windows = false;  // one result a window beside the clip's
  bool return_frames = false;
};

struct Request {
  static int64_t Size(const std::string& bytes) { return static_cast<int64_t>(bytes.size()); }

  ModelPtr model;
  std::string id;  // a UUID, or empty
  // Container bytes, frames, a normalised video, or container bytes that are still arriving.
  std::variant<std::string, FrameInput, TensorInput, UploadPtr> input;
  FrameSpec frame_spec;  // the model's own with the request's overrides
  bool allow_partial = false;
  AnswerOptions answer;
  absl::Time received;
  Cancel cancel = Cancel();  // the deadline, and the client's cancellation

  const UploadPtr* upload() const { return std::get_if<UploadPtr>(&input); }
  // Those that came: of an upload, so far.
  int64_t input_bytes() const {
    if (upload() != nullptr) return (*upload())->received();
    if (const auto* frames = std::get_if<FrameInput>(&input)) return Size(frames->rgb);
    if (const auto* tensor = std::get_if<TensorInput>(&input)) return Size(tensor->values);
    return Size(std::get<std::string>(input));
  }
};

// How long each stage took; empty where the request never came.
struct Timing {
  std::optional<absl::Duration>
      receive;  // from the handler's start (message complete) to admission
  std::optional<absl::Duration> decode_queue;
  std::optional<absl::Duration> decode;
  std::optional<absl::Duration> batch_queue;
  std::optional<absl::Duration> inference;
  absl::Duration total;
};

struct Usage {
  int64_t tokens = 0;  // of all views, cls not counted
  int64_t frames_decoded = 0;
  int batch_size = 0;  // requests that shared the launch
  int64_t batch_tokens = 0;
};

struct Reply {
  ModelPtr model;
  AnswerOptions answer;
  Clip clip;  // without pixels, unless answer.return_frames
  Prediction prediction;
  Timing timing;
  Usage usage;
};

// Gets the answer, exactly once, on any thread. Must not block.
using Done = std::function<void(absl::StatusOr<Reply>)>;

}  // namespace scanline
