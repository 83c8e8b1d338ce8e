#include "server/worker_pool.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

using Predictors = std::unordered_map<const ServedModel*, std::unique_ptr<Predictor>>;

// A word that the model knows; "" where its vocabulary has no plain one.
std::string KnownWord(const TextTowerConfig& tower) {
  for (const std::string& word : tower.vocab) {
    if (!word.empty() && std::all_of(word.begin(), word.end(), absl::ascii_islower)) return word;
  }
  return "";
}

// A black clip of one view, as the model takes it.
Clip WarmUpClip(const ModelConfig& config) {
  Clip clip;
  clip.height = clip.width = config.frame_spec.size;
  const int frames = config.frame_spec.sampling.frames;
  clip.pixels.resize(clip.picture_bytes() * frames);
  clip.sampled.resize(frames);
  clip.windows.resize(1);
  View view;
  view.pictures.resize(frames);
  std::iota(view.pictures.begin(), view.pictures.end(), 0);
  clip.views.push_back(std::move(view));
  if (config.detect.has_value())
    clip.keyframes.push_back({.width = clip.width, .height = clip.height});
  return clip;
}

absl::StatusOr<std::unique_ptr<Predictor>> MakeWarm(const ServedModel& model, int worker) {
  SCANLINE_ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor, model.make_predictor(worker));
  const Clip clip = WarmUpClip(model.config);
  const Cancel never;
  PredictItem item{.clip = &clip, .cancel = &never, .tasks = model.tasks()};
  const std::vector<std::vector<PersonInPicture>> people = {{{{0, 0, 1, 1}, 1}}};
  if (item.tasks.detect) item.people = &people;
  std::vector<std::string> texts;
  if (model.takes_texts()) texts.push_back(KnownWord(*model.config.text_tower));
  item.tasks.match = !texts.empty() && !texts[0].empty();
  if (item.tasks.match) item.texts = &texts;
  SCANLINE_RETURN_IF_ERROR(predictor->Predict({&item, 1}).front().status());
  return predictor;
}

absl::StatusOr<Predictors> MakeAll(const std::vector<ModelPtr>& models, int worker) {
  Predictors predictors;
  for (const ModelPtr& model : models) {
    SCANLINE_ASSIGN_OR_RETURN(predictors[model.get()], MakeWarm(*model, worker));
  }
  return predictors;
}

}  // namespace

WorkerPool::WorkerPool(int workers, std::vector<ModelPtr> models, Batcher* queue, Run run)
    : workers_(workers), models_(std::move(models)), queue_(queue), run_(std::move(run)) {
  for (int i = 0; i < workers_; ++i) threads_.emplace_back([this, i] { RunWorker(i); });
}

WorkerPool::~WorkerPool() {
  for (std::thread& thread : threads_) thread.join();
}

absl::Status WorkerPool::WaitReady() {
  MutexLock lock(mu_);
  while (started_ < workers_ && status_.ok()) reported_.wait(lock.native());
  return status_;
}

void WorkerPool::Report(const absl::Status& status) {
  MutexLock lock(mu_);
  ++started_;
  status_.Update(status);
  reported_.notify_all();
}

void WorkerPool::RunWorker(int worker) {
  const absl::StatusOr<Predictors> predictors = MakeAll(models_, worker);
  if (!predictors.ok()) return Report(predictors.status());
  Report(absl::OkStatus());
  while (true) {
    std::vector<JobPtr> batch = queue_->Pull();
    if (batch.empty()) return;
    busy_.fetch_add(1, std::memory_order_relaxed);
    Predictor& predictor = *predictors->at(batch.front()->request.model.get());
    run_(predictor, std::move(batch));
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace scanline
