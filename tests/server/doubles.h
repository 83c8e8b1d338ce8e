#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/error.h"
#include "server/request.h"

// Stand-ins for the model and for what waits, so that the server's own behaviour is tested without
// Torch and without sleeping.

namespace scanline::testing {

// Opens once; whoever waits at it goes on.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mu_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mu_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void AwaitWaiters(int count) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

// Answers that depend on the item alone. Of a clip: class 0 gets the sum of the pixels, and the
// vector is (1, 0) where it is black, else (0, 1). Of a text: (1, 0) where it says "black", else
// (0, 1); its words are its tokens, of which it reads four, and "zebra" is not known; an empty one
// is FIELD_INVALID. Of a person: how bright the view's first picture is inside the box and outside
// of it, 0 to 1, times the person's score. `before` runs in each Predict call that is not the
// warm-up.
class SumPredictor : public Predictor {
 public:
  using Before = std::function<void(absl::Span<const PredictItem>)>;
  explicit SumPredictor(int classes, Before before)
      : classes_(classes), before_(std::move(before)) {}

  std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) override {
    const bool warm_up = std::exchange(first_, false);
    if (!warm_up && before_) before_(items);
    std::vector<absl::StatusOr<Prediction>> results;
    for (const PredictItem& item : items) results.push_back(One(item));
    return results;
  }

  const ModelBundle& bundle() const override { std::abort(); }  // the server never asks

 private:
  absl::StatusOr<Prediction> One(const PredictItem& item) const {
    Prediction prediction;
    if (item.texts != nullptr) {
      for (size_t i = 0; i < item.texts->size(); ++i) {
        if ((*item.texts)[i].empty()) return NothingToRead(i);
        prediction.texts.push_back(Read((*item.texts)[i]));
      }
    }
    if (item.clip != nullptr) See(*item.clip, item.tasks, &prediction);
    if (item.tasks.detect) Judge(*item.clip, *item.people, &prediction);
    return prediction;
  }

  static absl::Status NothingToRead(size_t i) {
    const std::string field = "texts[" + std::to_string(i) + "]";
    return MakeError(Reason::kFieldInvalid, field + ": expected words, found none",
                     {{"field", field}, {"expected", "words"}, {"found", "none"}});
  }

  static TextEmbedding Read(const std::string& text) {
    TextEmbedding read;
    const std::vector<std::string> words = absl::StrSplit(text, ' ');
    read.tokens = static_cast<int>(std::min<size_t>(words.size(), 4));
    read.truncated = words.size() > 4;
    read.values = {0, 1};
    for (const std::string& word : words) {
      if (word == "zebra") read.unknown_words.push_back(word);
      if (word == "black") read.values = {1, 0};
    }
    return read;
  }

  void See(const Clip& clip, const TaskSet& tasks, Prediction* prediction) const {
    if (!tasks.classify && !tasks.embed && !tasks.match) return;
    float sum = 0;
    for (const uint8_t value : clip.pixels) sum += value;
    for (const View& view : clip.views) {
      if (view.window < 0) continue;
      std::vector<float> logits(classes_);
      logits[0] = sum;
      const std::vector<float> vector = {sum == 0 ? 1.0f : 0.0f, sum == 0 ? 0.0f : 1.0f};
      if (tasks.classify) prediction->logits.push_back(std::move(logits));
      if (tasks.embed || tasks.match) {
        prediction->embeddings.push_back(vector);
        prediction->raw_embeddings.push_back({2 * vector[0], 2 * vector[1]});
      }
      if (tasks.rerank) prediction->match_logits.emplace_back(prediction->texts.size(), 0.5f);
      prediction->tokens += 8;
    }
  }

  // Views of people alone are run where somebody is, as by the real one.
  static void Judge(const Clip& clip, const std::vector<std::vector<PersonInPicture>>& people,
                    Prediction* prediction) {
    prediction->actions.resize(clip.keyframes.size());
    for (size_t k = 0; k < people.size(); ++k) {
      const int picture = clip.views.at(clip.keyframes[k].view).pictures[0];
      for (const PersonInPicture& person : people.at(k)) {
        const std::vector<float> bright = Brightness(clip, picture, person.box);
        prediction->actions[k].push_back(
            {bright, {bright[0] * person.score, bright[1] * person.score}});
      }
    }
  }

  static std::vector<float> Brightness(const Clip& clip, int picture, const Box& box) {
    float sum[2] = {0, 0};
    float count[2] = {0, 0};
    for (int y = 0; y < clip.height; ++y) {
      for (int x = 0; x < clip.width; ++x) {
        const bool inside = x + 0.5 >= box.x_min && x + 0.5 < box.x_max && y + 0.5 >= box.y_min &&
                            y + 0.5 < box.y_max;
        sum[!inside] += clip.picture(picture)[(y * clip.width + x) * 3] / 255.0f;
        ++count[!inside];
      }
    }
    return {sum[0] / std::max(count[0], 1.0f), sum[1] / std::max(count[1], 1.0f)};
  }

  const int classes_;
  const Before before_;
  bool first_ = true;
};

inline std::shared_ptr<ServedModel> NewModel(const std::string& name,
                                             const SumPredictor::Before& before) {
  auto model = std::make_shared<ServedModel>();
  model->config.name = name;
  model->config.version = "1";
  model->config.tasks = {"classify"};
  model->config.backbone = {.embed_dim = 16, .depth = 1, .patch = 2, .frames = 2, .size = 4};
  model->config.frame_spec.sampling.frames = 2;
  model->config.frame_spec.size = 4;
  model->config.classify.labels = {"a", "b", "c"};
  model->make_predictor = [before](int) -> absl::StatusOr<std::unique_ptr<Predictor>> {
    return std::make_unique<SumPredictor>(3, before);
  };
  return model;
}

// One that classifies.
inline ModelPtr MakeModel(const std::string& name, const SumPredictor::Before& before = nullptr) {
  return NewModel(name, before);
}

// One that also embeds, and matches clips with texts of up to four words.
inline std::shared_ptr<ServedModel> NewTextModel(const std::string& name,
                                                 const SumPredictor::Before& before = nullptr) {
  auto model = NewModel(name, before);
  model->config.tasks = {"classify", "embed", "match"};
  model->config.embed = EmbedConfig{.dim = 2, .prompts = {"{}", "a clip of {}"}};
  model->config.text_tower =
      TextTowerConfig{.vocab = {"", "black"}, .dim = 16, .depth = 1, .max_words = 4};
  model->temperature = 0.5f;
  return model;
}

// One that classifies and says of people whether they are bright, or what is round them; by windows
// of 1 s, with keyframes every second.
inline std::shared_ptr<ServedModel> NewDetectModel(const std::string& name,
                                                   PersonFinder find_people = nullptr,
                                                   const SumPredictor::Before& before = nullptr) {
  auto model = NewModel(name, before);
  model->config.tasks = {"classify", "detect"};
  SamplingSpec& sampling = model->config.frame_spec.sampling;
  sampling.rule = SamplingRule::kWindow;
  sampling.window_seconds = 1;
  sampling.stride_seconds = 0.5;
  model->config.detect = DetectConfig{
      .labels = {"bright", "round"}, .label_index_offset = 1, .box_frame = 1, .min_score = 0.1};
  model->find_people = std::move(find_people);
  return model;
}

inline ModelPtr MakeTextModel(const std::string& name,
                              const SumPredictor::Before& before = nullptr) {
  return NewTextModel(name, before);
}

// A clip of one view of two frames whose pixels are all `value`.
inline Clip MakeClip(uint8_t value) {
  Clip clip;
  clip.height = clip.width = 4;
  clip.pixels.assign(clip.picture_bytes() * 2, value);
  clip.sampled.resize(2);
  clip.windows.resize(1);
  clip.views.push_back({.pictures = {0, 1}});
  clip.source.codec = "h264";
  clip.source.duration_seconds = 1;
  clip.stats.frames_walked = 2;
  return clip;
}

inline Request MakeRequest(ModelPtr model, std::string content = "x",
                           absl::Time deadline = absl::InfiniteFuture()) {
  Request request;
  request.model = std::move(model);
  request.input = std::move(content);
  request.cancel = Cancel(deadline);
  return request;
}

// EmbedText's.
inline Request MakeTextRequest(ModelPtr model, std::vector<std::string> texts,
                               absl::Time deadline = absl::InfiniteFuture()) {
  Request request;
  request.model = std::move(model);
  request.input = TextsAlone{};
  request.texts = std::move(texts);
  request.answer.tasks = {.classify = false};
  request.cancel = Cancel(deadline);
  return request;
}

// Collects one answer; fails the process when there is a second one.
class Answer {
 public:
  Done done() {
    return [this](absl::StatusOr<Reply> reply) {
      const std::lock_guard lock(mu_);
      if (reply_.has_value()) std::abort();
      reply_ = std::move(reply);
      came_.notify_all();
    };
  }
  absl::StatusOr<Reply>& Wait() {
    std::unique_lock lock(mu_);
    came_.wait(lock, [this] { return reply_.has_value(); });
    return *reply_;
  }
  bool came() {
    const std::lock_guard lock(mu_);
    return reply_.has_value();
  }

 private:
  std::mutex mu_;
  std::condition_variable came_;
  std::optional<absl::StatusOr<Reply>> reply_;
};

}  // namespace scanline::testing
