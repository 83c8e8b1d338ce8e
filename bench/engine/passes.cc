#include "bench/engine/passes.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/team.h"
#include "model/heads.h"
#include "model/patches.h"
#include "model/tensor_ops.h"
#include "tests/model/generator.h"

namespace scanline::bench {
namespace {

constexpr int kClasses = 400;

// VmRSS: or VmHWM: of this process, in 10^6 bytes.
double StatusMb(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, field)) {
      return std::atof(line.c_str() + std::string(field).size()) * 1024 / 1e6;
    }
  }
  return 0;
}

// OpenGVLab/VideoMamba, models/videomamba.py: videomamba_tiny, _small, _middle.
absl::StatusOr<ModelConfig> OfficialConfig(const std::string& name, int frames, int layers) {
  struct Size {
    int dim;
    int depth;
  };
  static const std::map<std::string, Size> sizes = {
      {"tiny", {192, 24}}, {"small", {384, 24}}, {"middle", {576, 32}}, {"base", {768, 24}}};
  const auto size = sizes.find(name);
  if (size == sizes.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a model of tiny, small, middle, base or a bundle's folder (with a /), found ",
        name));
  }
  ModelConfig config;
  config.backbone.embed_dim = size->second.dim;
  config.backbone.dt_rank = (size->second.dim + 15) / 16;
  config.backbone.depth = layers > 0 ? layers : size->second.depth;
  config.backbone.frames = frames > 0 ? frames : 8;
  config.mean = {0.485F, 0.456F, 0.406F};
  config.std = {0.229F, 0.224F, 0.225F};
  config.classify.labels.resize(kClasses);
  return config;
}

PassOptions OptionsOf(const Subject& subject, const PassPlan& plan, Team* team) {
  return {.precision = plan.precision,
          .team = team,
          .pixels = PixelNorm{subject.config.mean, subject.config.std}};
}

// What a worker does with a clip: pictures to patches, backbone, class head.
class Worker {
 public:
  Worker(const Subject& subject, const PassPlan& plan, Team* team)
      : options_(OptionsOf(subject, plan, team)),
        backbone_(subject.config.backbone, subject.weights(), *plan.kernels, options_),
        head_(backbone_.config(), subject.config.classify, subject.weights()) {
    const BackboneConfig& config = subject.config.backbone;
    const size_t bytes = size_t{3} * config.size * config.size;
    for (int i = 0; i < config.frames; ++i) {
      pictures_.push_back(subject.pictures.data() + i * bytes);
    }
  }

  std::vector<float> Pass() {
    const BackboneConfig& config = backbone_.config();
    PatchesFromPictures(pictures_, *options_.pixels, config, backbone_.pixel_patches());
    return head_.Run(
        backbone_.Run(config.pool == PoolKind::kCls ? Backbone::Rows::kCls : Backbone::Rows::kAll));
  }

  void Measure(PassTimes* times) { backbone_.Measure(times); }

 private:
  PassOptions options_;
  Backbone backbone_;
  ClassHead head_;
  std::vector<const uint8_t*> pictures_;
};

Shares MeasureShares(Worker& worker, int threads) {
  PassTimes times;
  worker.Measure(&times);
  const double began = WallSeconds();
  worker.Pass();
  const double all = (WallSeconds() - began) * threads * 1e9;
  worker.Measure(nullptr);
  const double busy = static_cast<double>(times.products + times.scan + times.conv + times.other);
  return {.products = static_cast<double>(times.products) / busy,
          .scan = static_cast<double>(times.scan) / busy,
          .conv = static_cast<double>(times.conv) / busy,
          .other = static_cast<double>(times.other) / busy,
          .waiting = 1 - busy / all};
}

}  // namespace

std::vector<uint8_t> MakePictures(const BackboneConfig& config, int count) {
  std::vector<uint8_t> pictures(size_t{3} * count * config.size * config.size);
  const uint64_t state = testing::NameHash("pictures") ^ kSeed;
  for (size_t i = 0; i < pictures.size(); ++i) {
    pictures[i] = static_cast<uint8_t>(testing::Mixed(state, i) >> 56);
  }
  return pictures;
}

absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const std::string& name, int frames,
                                                     int layers) {
  auto subject = std::make_unique<Subject>();
  if (absl::StrContains(name, "/")) {
    SCANLINE_ASSIGN_OR_RETURN(subject->bundle, ModelBundle::Load(name));
    subject->config = subject->bundle->config();
    const int own = subject->config.backbone.frames;
    if ((frames != 0 && frames != own) || layers != 0 || subject->config.classify.labels.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a bundle is run whole, with its own ", own, " frames and a class head"));
    }
  } else {
    SCANLINE_ASSIGN_OR_RETURN(subject->config, OfficialConfig(name, frames, layers));
    subject->made = testing::GenerateWeights(subject->config, kSeed);
  }
  subject->pictures = MakePictures(subject->config.backbone, subject->config.backbone.frames);
  return subject;
}

Latency MeasureLatency(const Subject& subject, const PassPlan& plan) {
  Latency latency;
  Team team(plan.threads);
  const auto packed = PackedBackbone::Of(subject.config.backbone, subject.weights(),
                                         OptionsOf(subject, plan, &team));
  const double before = StatusMb("VmRSS:");
  Worker worker(subject, plan, &team);
  latency.logits = worker.Pass();
  worker.Pass();
  latency.memory.after_2_mb = StatusMb("VmRSS:");
  latency.memory.activations_mb = latency.memory.after_2_mb - before;
  const auto pass = [&] {
    worker.Pass();
    return absl::OkStatus();
  };
  latency.timing = *TimePasses(plan.runs, 1, pass);
  latency.memory.passes = plan.runs + 2;
  latency.memory.after_all_mb = StatusMb("VmRSS:");
  latency.memory.peak_mb = StatusMb("VmHWM:");
  latency.shares = MeasureShares(worker, plan.threads);
  return latency;
}

Timing MeasureThroughput(const Subject& subject, const PassPlan& plan) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < plan.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(subject, plan, nullptr));
  }
  std::vector<std::vector<double>> pass_s(workers.size());
  Team team(plan.threads);
  const auto passes = [&](int runs) {
    team.Run([&](int rank) {
      UseThreads(1);  // Torch's own, in the class head
      for (int run = 0; run < runs; ++run) {
        const double start = WallSeconds();
        workers[rank]->Pass();
        pass_s[rank].push_back(WallSeconds() - start);
      }
    });
  };
  passes(1);
  for (auto& of_worker : pass_s) of_worker.clear();
  const double cpu = CpuSeconds();
  const double began = WallSeconds();
  passes(plan.runs);
  const double wall = WallSeconds() - began;
  const double cpu_s = CpuSeconds() - cpu;
  std::vector<double> all;
  for (const auto& of_worker : pass_s) all.insert(all.end(), of_worker.begin(), of_worker.end());
  Timing timing = Summary(std::move(all), 1, wall, cpu_s);
  timing.clip_s = 1 / timing.clips_per_s;  // A pass tells nothing of those beside it.
  return timing;
}

}  // namespace scanline::bench
