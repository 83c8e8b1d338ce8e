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
#include "server/people.h"
#include "server/served_model.h"
#include "server/upload.h"

// A request and its answer as plain data. from_proto.cc makes the first of a message and
// to_proto.cc a message of the second; nothing between knows gRPC.

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

// EmbedText: no clip, Request::texts is all.
struct TextsAlone {};

// What the answer shall hold.
struct AnswerOptions {
  TaskSet tasks;
  int top_k = 5;
  float min_score = 0;  // classes below it are left out
  bool include_logits = false;
  bool windows = false;            // one result a window beside the clip's
  bool skip_normalize = false;     // embeddings as they are before any normalisation
  bool window_embeddings = false;  // those of the windows follow the clip's in `embeddings` too
  bool return_frames = false;
  int top_actions = 0;         // of a person; 0: all
  float min_action_score = 0;  // those below it are left out
  bool link_tracks = false;
};

struct Request {
  static int64_t Size(const std::string& bytes) { return static_cast<int64_t>(bytes.size()); }

  ModelPtr model;
  std::string id;  // a UUID, or empty
  // Container bytes, frames, a normalised video, container bytes that are still arriving, or no
  // clip.
  std::variant<std::string, FrameInput, TensorInput, UploadPtr, TextsAlone> input;
  // Those to embed, or to match the clip with, as the model reads them: with prompts, each of the
  // client's texts is `prompts` neighbours here, one a template.
  std::vector<std::string> texts;
  int prompts = 1;
  FrameSpec frame_spec;  // the model's own with the request's overrides
  PeopleSpec people;     // with the task detect
  bool allow_partial = false;
  AnswerOptions answer;
  absl::Time received;
  Cancel cancel = Cancel();  // the deadline, and the client's cancellation

  const UploadPtr* upload() const { return std::get_if<UploadPtr>(&input); }
  // What stands before "texts[i]" in the message that the client sent.
  std::string text_prefix() const { return has_clip() ? "spec.match_text." : ""; }
  bool has_clip() const { return !std::holds_alternative<TextsAlone>(input); }
  // Of the clip, as they came: of an upload, so far.
  int64_t clip_bytes() const {
    if (upload() != nullptr) return (*upload())->received();
    if (const auto* frames = std::get_if<FrameInput>(&input)) return Size(frames->rgb);
    if (const auto* tensor = std::get_if<TensorInput>(&input)) return Size(tensor->values);
    return has_clip() ? Size(std::get<std::string>(input)) : 0;
  }
  int64_t text_bytes() const {
    int64_t bytes = 0;
    for (const std::string& text : texts) bytes += Size(text);
    return bytes;
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
  // While frames were decoded, and not counted there; empty where nobody was looked for.
  std::optional<absl::Duration> find_people;
  absl::Duration total;
};

struct Usage {
  int64_t tokens = 0;  // of all views, cls not counted
  int64_t frames_decoded = 0;
  int64_t texts = 0;         // encoded: with prompts, every filled template
  int64_t text_tokens = 0;   // of them
  int batch_size = 0;        // requests that shared the launch
  int64_t batch_tokens = 0;  // their cost in token equivalents (server/cost.h)
};

struct Reply {
  ModelPtr model;
  AnswerOptions answer;
  int prompts = 1;  // of prediction.texts that stand for one text of the request
  Clip clip;        // without pixels, unless answer.return_frames
  ClipPeople people;
  Prediction prediction;
  Timing timing;
  Usage usage;
};

// Gets the answer, exactly once, on any thread. Must not block.
using Done = std::function<void(absl::StatusOr<Reply>)>;

}  // namespace scanline
