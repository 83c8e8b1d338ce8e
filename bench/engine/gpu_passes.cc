#include "bench/engine/gpu_passes.h"

#include <cstring>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "model/cuda/cuda_backbone.h"
#include "model/heads.h"

namespace scanline::bench {
namespace {

// What a worker of the server has: the engine, and the head on the CPU.
class GpuModel {
 public:
  // `config` and `weights` must outlive the result.
  static absl::StatusOr<GpuModel> Open(const GpuPlan& plan, const ModelConfig& config,
                                       const Weights& weights) {
    const auto type =
        plan.precision == Precision::kFp32 ? cuda::Element::kFloat32 : cuda::Element::kBfloat16;
    SCANLINE_ASSIGN_OR_RETURN(auto backbone,
                              CudaBackbone::Create(plan.device, config, weights, type));
    return GpuModel(config, weights, std::move(backbone));
  }

  // To the tokens that the head reads, [views][token_floats()], good until the next call.
  absl::StatusOr<const float*> Tokens(absl::Span<const ViewInput> views) {
    tokens_.resize(views.size() * token_floats());
    SCANLINE_RETURN_IF_ERROR(
        backbone_->Run(views, config_->backbone, all_tokens(), tokens_.data()));
    return tokens_.data();
  }

  // To the class logits of each view.
  absl::StatusOr<std::vector<std::vector<float>>> Logits(absl::Span<const ViewInput> views) {
    SCANLINE_ASSIGN_OR_RETURN(const float* tokens, Tokens(views));
    std::vector<std::vector<float>> logits;
    for (size_t v = 0; v < views.size(); ++v) {
      logits.push_back(head_->Run(tokens + v * token_floats()));
    }
    return logits;
  }

  size_t token_floats() const {
    const BackboneConfig& config = config_->backbone;
    return static_cast<size_t>(all_tokens() ? config.tokens() : 1) * config.embed_dim;
  }

 private:
  GpuModel(const ModelConfig& config, const Weights& weights,
           std::unique_ptr<CudaBackbone> backbone)
      : config_(&config),
        backbone_(std::move(backbone)),
        head_(std::make_unique<ClassHead>(config.backbone, config.classify, weights)) {}

  bool all_tokens() const { return config_->backbone.pool != PoolKind::kCls; }

  const ModelConfig* config_;
  std::unique_ptr<CudaBackbone> backbone_;
  std::unique_ptr<ClassHead> head_;
  std::vector<float> tokens_;
};

// Clips of noise: the first is Subject::pictures, each next one begins a picture later.
struct Clips {
  Clips(const BackboneConfig& config, int count)
      : pictures(MakePictures(config, config.frames + count - 1)) {
    const size_t bytes = size_t{3} * config.size * config.size;
    for (int clip = 0; clip < count; ++clip) {
      ViewInput view;
      for (int i = 0; i < config.frames; ++i) {
        view.pictures.push_back(&pictures[(clip + i) * bytes]);
      }
      views.push_back(std::move(view));
    }
  }
  std::vector<uint8_t> pictures;
  std::vector<ViewInput> views;
};

absl::StatusOr<bool> SameBitsAlone(GpuModel& model, const std::vector<ViewInput>& views) {
  const size_t count = model.token_floats();
  SCANLINE_ASSIGN_OR_RETURN(const float* together, model.Tokens(views));
  const std::vector<float> kept(together, together + views.size() * count);
  for (const size_t v : {size_t{0}, views.size() / 2, views.size() - 1}) {
    SCANLINE_ASSIGN_OR_RETURN(const float* alone, model.Tokens({&views[v], 1}));
    if (std::memcmp(alone, &kept[v * count], count * sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<GpuPasses> MeasureBatches(const Subject& subject, const GpuPlan& plan,
                                         const std::vector<int>& batches) {
  SCANLINE_ASSIGN_OR_RETURN(GpuModel model,
                            GpuModel::Open(plan, subject.config, subject.weights()));
  GpuPasses passes;
  for (const int batch : batches) {
    const Clips clips(subject.config.backbone, batch);
    const auto pass = [&] { return model.Logits(clips.views).status(); };
    constexpr int kWarmups = 3;  // kernels are loaded, then graphs made, then once more
    SCANLINE_RETURN_IF_ERROR(TimePasses(kWarmups, batch, pass).status());
    BatchSpeed& speed = passes.speed.emplace_back();
    speed.batch = batch;
    SCANLINE_ASSIGN_OR_RETURN(speed.timing, TimePasses(plan.runs, batch, pass));
    SCANLINE_ASSIGN_OR_RETURN(speed.same_bits, SameBitsAlone(model, clips.views));
  }
  const Clips one(subject.config.backbone, 1);
  SCANLINE_ASSIGN_OR_RETURN(const auto logits, model.Logits(one.views));
  passes.logits = logits.front();
  return passes;
}

ForwardOf GpuForward(const GpuPlan& plan) {
  return [plan](const ModelConfig& model, const Weights& weights,
                const float* video) -> absl::StatusOr<std::vector<float>> {
    ModelConfig config = model;
    config.std = {1, 1, 1};  // of pictures, which a bundle would state; there are none
    SCANLINE_ASSIGN_OR_RETURN(GpuModel gpu, GpuModel::Open(plan, config, weights));
    const ViewInput view{.video = video};
    SCANLINE_ASSIGN_OR_RETURN(const auto logits, gpu.Logits({&view, 1}));
    return logits.front();
  };
}

}  // namespace scanline::bench
