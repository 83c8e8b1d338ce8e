#include "tests/client/retrieval_double.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "scanline/v1/video_service.grpc.pb.h"

namespace scanline::testing {
namespace {

constexpr uint32_t kMostTexts = 5;
constexpr float kTemperature = 0.5F;

grpc::Status Error(grpc::StatusCode code, const std::string& reason, const std::string& message) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("scanline");
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(message);
  details.add_details()->PackFrom(info);
  return grpc::Status(code, message, details.SerializeAsString());
}

// A clip or a text, understood.
struct Words {
  std::vector<float> numbers;  // x, y, what reranking looks at
  std::vector<std::string> unknown;
  bool bad = false;
  bool slow = false;
};

Words Read(const std::string& text) {
  Words words;
  for (const auto word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    float number = 0;
    if (absl::SimpleAtof(word, &number)) {
      words.numbers.push_back(number);
    } else if (word == "bad") {
      words.bad = true;
    } else if (word == "slow") {
      words.slow = true;
    } else {
      words.unknown.emplace_back(word);
    }
  }
  if (!words.numbers.empty()) words.numbers.resize(3);
  return words;
}

v1::Embedding VectorOf(const Words& words, bool normalize) {
  const float x = words.numbers[0], y = words.numbers[1];
  const float length = normalize ? std::sqrt(x * x + y * y) : 1;
  v1::Embedding vector;
  vector.add_values(x / length);
  vector.add_values(y / length);
  return vector;
}

void SetRange(double start, double end, v1::Embedding* embedding) {
  embedding->mutable_start_offset()->set_nanos(static_cast<int32_t>(start * 1e9));
  embedding->mutable_end_offset()->set_seconds(static_cast<int64_t>(end));
}

grpc::Status NoNumber(int i) {
  return Error(grpc::INVALID_ARGUMENT, "FIELD_INVALID",
               absl::StrCat("texts[", i, "]: expected a known word, found none"));
}

v1::Warning UnknownTerms(int i, const Words& words) {
  v1::Warning warning;
  warning.set_reason("UNKNOWN_TERMS");
  warning.set_message(
      absl::StrCat("texts[", i, "]: unknown words: ", absl::StrJoin(words.unknown, ", ")));
  return warning;
}

class Videos final : public v1::VideoService::Service {
 public:
  std::function<void()> on_match;

  grpc::Status AnalyzeClip(grpc::ServerContext*, const v1::AnalyzeClipRequest* request,
                           v1::AnalyzeClipResponse* response) override {
    const v1::AnalysisSpec& spec = request->spec();
    const Words clip = Read(request->content());
    const bool match = spec.tasks(0) == v1::TASK_MATCH_TEXT;
    {
      const std::lock_guard<std::mutex> lock(mu_);
      if (match) {
        match_sizes_.push_back(spec.match_text().texts_size());
        prompts_ = spec.match_text().use_prompts();
      } else {
        ++clips_;
      }
    }
    if (on_match && match && spec.match_text().texts_size() > 1) on_match();
    if (clip.slow) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (match && spec.match_text().rerank() && spec.model() == "models/finder2") {
      return Error(grpc::FAILED_PRECONDITION, "TASK_UNSUPPORTED", "finder2 has no fusion layers");
    }
    if (clip.bad || clip.numbers.empty()) {
      return Error(grpc::INVALID_ARGUMENT, "VIDEO_UNREADABLE", "no known container");
    }
    v1::ClipResult& result = *response->mutable_result();
    result.set_model(spec.model() + "@1");
    return match ? Match(spec.match_text(), clip, result) : Embed(spec, clip, result);
  }

  grpc::Status EmbedText(grpc::ServerContext*, const v1::EmbedTextRequest* request,
                         v1::EmbedTextResponse* response) override {
    {
      const std::lock_guard<std::mutex> lock(mu_);
      texts_ += request->texts_size();
      most_texts_ = std::max(most_texts_, request->texts_size());
    }
    for (int i = 0; i < request->texts_size(); ++i) {
      const Words words = Read(request->texts(i));
      if (words.numbers.empty()) return NoNumber(i);
      *response->add_embeddings() = VectorOf(words, true);
      if (!words.unknown.empty()) *response->add_warnings() = UnknownTerms(i, words);
    }
    return grpc::Status::OK;
  }

  mutable std::mutex mu_;
  int clips_ = 0;
  int texts_ = 0;
  int most_texts_ = 0;
  std::vector<int> match_sizes_;
  bool prompts_ = false;

 private:
  static grpc::Status Embed(const v1::AnalysisSpec& spec, const Words& clip,
                            v1::ClipResult& result) {
    const v1::Embedding whole = VectorOf(clip, !spec.embed().skip_normalize());
    *result.add_embeddings() = whole;
    SetRange(0, 2, result.mutable_embeddings(0));
    if (!spec.embed().per_window()) return grpc::Status::OK;
    for (int i = 0; i < 2; ++i) {
      v1::WindowResult* window = result.add_windows();
      *window->mutable_embedding() = whole;
      if (i == 1) {
        window->mutable_embedding()->set_values(0, -whole.values(1));
        window->mutable_embedding()->set_values(1, whole.values(0));
      }
      SetRange(0.5 * i, 1 + i, window->mutable_embedding());
      window->mutable_start_offset()->CopyFrom(window->embedding().start_offset());
      window->mutable_end_offset()->CopyFrom(window->embedding().end_offset());
      *result.add_embeddings() = window->embedding();
    }
    return grpc::Status::OK;
  }

  static grpc::Status Match(const v1::MatchTextOptions& options, const Words& clip,
                            v1::ClipResult& result) {
    const v1::Embedding video = VectorOf(clip, true);
    double sum = 0;
    for (int i = 0; i < options.texts_size(); ++i) {
      const Words words = Read(options.texts(i));
      if (words.numbers.empty()) return NoNumber(i);
      if (!words.unknown.empty()) *result.add_warnings() = UnknownTerms(i, words);
      const v1::Embedding text = VectorOf(words, true);
      v1::TextMatch* match = result.add_text_matches();
      match->set_similarity(video.values(0) * text.values(0) + video.values(1) * text.values(1));
      if (options.rerank()) match->set_match_logit(-std::abs(words.numbers[2] - clip.numbers[2]));
      match->set_score(std::exp(match->similarity() / kTemperature));
      sum += match->score();
    }
    for (v1::TextMatch& match : *result.mutable_text_matches()) {
      match.set_score(static_cast<float>(match.score() / sum));
    }
    return grpc::Status::OK;
  }
};

class Models final : public v1::ModelService::Service {
 public:
  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    for (const char* name : {"walker", "finder", "finder2"}) *response->add_models() = Named(name);
    return grpc::Status::OK;
  }

  grpc::Status GetModel(grpc::ServerContext*, const v1::GetModelRequest* request,
                        v1::GetModelResponse* response) override {
    *response->mutable_model() = Named(request->name().substr(7));
    response->mutable_limits()->set_max_inline_bytes(1 << 20);
    response->mutable_limits()->set_max_texts(kMostTexts);
    response->mutable_limits()->set_max_text_bytes(50);
    return grpc::Status::OK;
  }

 private:
  static v1::Model Named(const std::string& name) {
    v1::Model model;
    model.set_name("models/" + name);
    model.set_version("1");
    model.set_state(v1::Model::STATE_READY);
    model.set_weights_sha256(std::string(64, 'a'));
    if (name == "walker") {
      model.add_tasks(v1::TASK_CLASSIFY);
      model.add_labels("walking");
      return model;
    }
    model.add_tasks(v1::TASK_EMBED);
    model.add_tasks(v1::TASK_MATCH_TEXT);
    model.set_embedding_dim(2);
    model.set_temperature(kTemperature);
    return model;
  }
};

}  // namespace

struct RetrievalDouble::Impl {
  Videos videos;
  Models models;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

RetrievalDouble::RetrievalDouble() : impl_(std::make_unique<Impl>()) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &impl_->port);
  builder.RegisterService(&impl_->videos);
  builder.RegisterService(&impl_->models);
  impl_->server = builder.BuildAndStart();
  SCANLINE_CHECK(impl_->server != nullptr && impl_->port > 0);
}

RetrievalDouble::~RetrievalDouble() {
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

void RetrievalDouble::OnMatch(std::function<void()> hook) {
  impl_->videos.on_match = std::move(hook);
}

std::string RetrievalDouble::host_port() const { return absl::StrCat("127.0.0.1:", impl_->port); }

int RetrievalDouble::clips() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.clips_;
}

int RetrievalDouble::texts() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.texts_;
}

int RetrievalDouble::most_texts() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.most_texts_;
}

std::vector<int> RetrievalDouble::match_sizes() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.match_sizes_;
}

bool RetrievalDouble::used_prompts() const {
  const std::lock_guard<std::mutex> lock(impl_->videos.mu_);
  return impl_->videos.prompts_;
}

}  // namespace scanline::testing
