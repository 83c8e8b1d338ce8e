#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config.h"
#include "model/predictor.h"
#include "server/people.h"

namespace scanline {

// One loaded model as the server sees it: what it says of itself, how a worker gets its own
// predictor, and who finds people for it. Shared read-only; requests hold it, so that it outlives
// them.
struct ServedModel {
  ModelConfig config;
  std::string weights_sha256;
  EngineInfo engine;                           // of its predictors; of the first worker's
  std::vector<std::string> devices = {"cpu"};  // of the workers, one each where they are GPUs
  float temperature = 0;                       // of TextMatch.score; 0: takes no texts
  std::function<absl::StatusOr<std::unique_ptr<Predictor>>(int worker)> make_predictor;
  PersonFinder find_people;  // null: actions are detected of given boxes alone

  std::string name() const;       // "models/tagger-24"
  std::string full_name() const;  // "models/tagger-24@1.0.0"
  int64_t tokens_per_view() const;
  bool takes_texts() const { return config.text_tower.has_value(); }
  bool can_rerank() const { return takes_texts() && config.text_tower->fusion_depth > 0; }
  TaskSet tasks() const;  // all that it is served for, without rerank
};

using ModelPtr = std::shared_ptr<const ServedModel>;

// The models of a server, in the order of --model. The first is the default.
class ModelTable {
 public:
  explicit ModelTable(std::vector<ModelPtr> models) : models_(std::move(models)) {}

  // `name` is "" (the first), "models/{id}" or "models/{id}@{version}". Error: MODEL_NOT_FOUND.
  absl::StatusOr<ModelPtr> Find(absl::string_view name) const;

  const std::vector<ModelPtr>& all() const { return models_; }

 private:
  std::vector<ModelPtr> models_;
};

}  // namespace scanline
