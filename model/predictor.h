#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/box.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "model/bundle.h"

namespace scanline {

struct PredictorOptions {
  int threads = 1;                 // of one forward pass
  std::string kernel = "auto";     // "auto" (the fastest here), or a name of KernelNames()
  std::string precision = "auto";  // of matrix products: "fp32", "bf16", or "auto" (fp32 on a CPU,
                                   // bf16 on a GPU)
  std::string device = "auto";     // "cpu", "cuda:N", or "auto" (the first GPU, if any)
};

// What passes run on, with every "auto" decided: shown at start, by GetModel and in benchmarks.
struct EngineInfo {
  std::string device = "cpu";  // or "cuda:N"
  std::string kernel;          // a name of KernelNames(); with a GPU, of the heads and texts alone
  std::string precision;       // "fp32" or "bf16"
  int threads = 1;
  std::string note;  // why "auto" took the CPU; empty: it was named, or a GPU is used
};

// FIELD_INVALID with what this machine has, where it lacks what the options name.
absl::StatusOr<EngineInfo> ResolveEngine(const PredictorOptions& options);

// Texts that rerank looks at: the best by the clip's similarity, as k_test of the official code.
inline constexpr size_t kRerankTexts = 128;

// What is wanted of a clip. `rerank` needs `match`. classify, embed and match read the views of
// windows, detect those of keyframes.
struct TaskSet {
  bool classify = true;
  bool embed = false;
  bool match = false;
  bool rerank = false;
  bool detect = false;
};

// Someone in a picture.
struct PersonInPicture {
  Box box;          // pixels of the clip's pictures (base/picture_geometry.h)
  float score = 1;  // of being a person; 1 for boxes that the client gives
};

// One request of a batch, all borrowed for the call: a clip, texts (EmbedText), or a clip and the
// texts that it is matched with.
struct PredictItem {
  const Clip* clip = nullptr;  // null: the texts alone
  const Cancel* cancel = nullptr;
  TaskSet tasks = {};
  const std::vector<std::string>* texts = nullptr;  // null: none
  // With detect: one list a keyframe of the clip. A view that only keyframes without people look at
  // is not computed.
  const std::vector<std::vector<PersonInPicture>>* people = nullptr;
};

// What someone does.
struct Actions {
  std::vector<float> logits;  // [detect.labels]
  std::vector<float> scores;  // softmax or sigmoid of them, times the person's score
};

struct TextEmbedding {
  std::vector<float> values;  // [embed.dim], as scored
  std::vector<std::string> unknown_words;
  bool truncated = false;
  int tokens = 0;
};

struct Prediction {
  std::vector<std::vector<float>> logits;          // [views][classes], in the order of Clip::views;
                                                   // those of no window have none
  std::vector<std::vector<float>> embeddings;      // [views][embed.dim], as scored: the dot product
                                                   // with a text's is the similarity
  std::vector<std::vector<float>> raw_embeddings;  // the same before any normalisation (a mean over
                                                   // steps where keep_temporal says so)
  std::vector<TextEmbedding> texts;                // one a text of the item
  std::vector<std::vector<float>> match_logits;    // [views][texts], with rerank; -100: not among
                                                   // the best by similarity that were looked at
  std::vector<std::vector<Actions>> actions;       // [keyframes][people], with detect
  int64_t tokens = 0;                              // of all views, cls not counted
};

// Runs the backbone and the heads of one bundle. One predictor a worker thread: Predict is not
// reentrant. Torch's and the allocator's exceptions end here.
class Predictor {
 public:
  static absl::StatusOr<std::unique_ptr<Predictor>> Create(
      std::shared_ptr<const ModelBundle> bundle, const PredictorOptions& options);
  virtual ~Predictor() = default;

  // One result an item, in order. An item's result has the same bits whatever else is in the batch.
  // Only what its tasks ask for is computed. Errors of an item: CANCELLED, EXPIRED_IN_INFERENCE
  // (looked at before each text and each view), DEVICE_MEMORY, NON_FINITE_OUTPUT, FIELD_INVALID (a
  // text in which there is nothing to read), TASK_UNSUPPORTED (the bundle lacks a section).
  virtual std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) = 0;

  virtual const ModelBundle& bundle() const = 0;
};

}  // namespace scanline
