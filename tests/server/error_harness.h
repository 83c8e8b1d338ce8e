#pragma once

#include <sys/resource.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/server/running_server.h"

// What provokes errors of the server over a real socket: each function starts a server, does one
// wrong thing and gives the answer.

namespace scanline::testing {

// A file of tests/data/clips.
std::string CorpusClip(const std::string& name);
std::string GoodClip();

template <typename Change>
Settings With(Change change) {
  Settings settings = TestSettings();
  change(settings);
  return settings;
}

// The real decoder, and a model that any clip passes quickly; where none is given, one that only
// classifies.
Running Serve(const Settings& settings = TestSettings(), ModelPtr model = nullptr);

grpc::Status Send(const std::string& clip, const Settings& settings = TestSettings());

// The good clip with another spec, to a model that classifies, embeds and matches, or to `model`.
grpc::Status WithSpec(const std::function<void(v1::AnalysisSpec&)>& change,
                      ModelPtr model = nullptr);

// EmbedText of a model with a text tower, or of `model`.
grpc::Status EmbedTexts(const std::vector<std::string>& texts,
                        const Settings& settings = TestSettings(), ModelPtr model = nullptr,
                        const std::string& request_id = "");

struct MatchPlan {
  bool rerank = false;
  bool use_prompts = false;
  int fusion_depth = 0;  // of the model
};
// TASK_MATCH_TEXT of the good clip.
grpc::Status MatchTexts(const std::vector<std::string>& texts, const MatchPlan& plan);

// The answer of a stream whose messages the caller writes.
grpc::Status Messages(Connection& server, const std::vector<v1::UploadClipRequest>& messages);
// The same of messages as bytes, which need be none.
grpc::Status RawMessages(Connection& server, const std::vector<std::string>& messages);
v1::UploadClipRequest StartMessage();
v1::UploadClipRequest ChunkMessage(const std::string& bytes);

// An upload of the clip with another start.
grpc::Status WithStart(const std::function<void(v1::UploadClipRequest::Start&)>& change,
                       const std::string& clip = GoodClip());

// The predictor's own error.
grpc::Status Faulty(Reason reason, const std::string& message);

// One call stands at the gate, in the decoder, while `second` is made.
grpc::Status WhileOneIsHeld(const Settings& settings,
                            const std::function<grpc::Status(Running&)>& second);

// While it lives, files of this process end at `bytes`, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes);
  ~FileSizeLimit();
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

// {"ErrorInfo", "BadRequest"} of a status, whose code and message its details must repeat.
std::vector<std::string> DetailsOf(const grpc::Status& status);

}  // namespace scanline::testing
