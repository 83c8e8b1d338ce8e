#include "model/predictor.h"

#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "model/backbone.h"
#include "model/kernels/kernels.h"
#include "model/patches.h"
#include "model/tensor_ops.h"
#include "model/weights.h"

namespace scanline {
namespace {

// Runs `body` where Torch or the allocator may throw.
template <typename Body>
absl::Status NoThrow(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return MakeError(Reason::kDeviceMemory, "not enough memory for a forward pass");
  } catch (const std::exception& error) {
    return MakeError(Reason::kInternal, absl::StrCat("the forward pass failed: ", error.what()));
  }
}

absl::StatusOr<const Kernels*> NamedKernels(const std::string& name) {
  const Kernels* kernels = name == "auto" ? &BestKernels() : FindKernels(name);
  if (kernels == nullptr) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("kernel ", name, " is not known; expected auto or ",
                                  absl::StrJoin(KernelNames(), ", ")));
  }
  if (!kernels->runs_here()) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("kernel ", name, " needs a CPU with its instructions"));
  }
  return kernels;
}

absl::StatusOr<const Kernels*> ChooseKernels(const PredictorOptions& options,
                                             const BackboneConfig& config) {
  if (options.threads < 1) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("threads must be at least 1, found ", options.threads));
  }
  SCANLINE_ASSIGN_OR_RETURN(const Kernels* const kernels, NamedKernels(options.kernel));
  if (!TakesMixer(*kernels, config)) {
    LogWarning(
        "kernel %s does not take width %d with d_state %d and d_conv %d: the scalar kernels, some "
        "ten times slower, do the rest",
        kernels->name, config.d_inner(), config.d_state, config.d_conv);
  }
  return kernels;
}

class CpuPredictor : public Predictor {
 public:
  CpuPredictor(std::shared_ptr<const ModelBundle> bundle, const Kernels& kernels, int threads)
      : bundle_(std::move(bundle)),
        kernels_(kernels),
        threads_(threads),
        pixels_(MakePixelTable(config().mean, config().std)),
        backbone_(config().backbone, bundle_->weights(), kernels),
        logits_(AllocateFloats(config().classify.labels.size())) {}

  std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) override {
    std::vector<absl::StatusOr<Prediction>> results;
    results.reserve(items.size());
    for (const PredictItem& item : items) results.push_back(PredictOne(item));
    return results;
  }

  const ModelBundle& bundle() const override { return *bundle_; }
  std::string kernel() const override { return kernels_.name; }

 private:
  const ModelConfig& config() const { return bundle_->config(); }

  absl::StatusOr<Prediction> PredictOne(const PredictItem& item) {
    Prediction prediction;
    SCANLINE_RETURN_IF_ERROR(NoThrow([&]() -> absl::Status {
      UseThreads(threads_);
      for (const View& view : item.clip->views) {
        SCANLINE_RETURN_IF_ERROR(item.cancel->Check(Reason::kExpiredInInference));
        SCANLINE_RETURN_IF_ERROR(FillPatches(*item.clip, view));
        prediction.logits.push_back(Head(backbone_.Run()));
        SCANLINE_RETURN_IF_ERROR(CheckFinite(prediction.logits.back()));
        prediction.tokens += config().backbone.tokens() - 1;
      }
      return absl::OkStatus();
    }));
    return prediction;
  }

  // Only a bug of the caller makes a clip that the model does not take; it costs one answer, not
  // the process.
  absl::Status FillPatches(const Clip& clip, const View& view) {
    const BackboneConfig& backbone = config().backbone;
    if (!clip.tensor.empty()) return FillPatchesFromTensor(clip);
    if (clip.width != backbone.size || clip.height != backbone.size ||
        static_cast<int>(view.pictures.size()) != backbone.frames) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("the model takes ", backbone.frames, " pictures of ",
                                    backbone.size, "x", backbone.size, ", the clip has a view of ",
                                    view.pictures.size(), " of ", clip.width, "x", clip.height));
    }
    std::vector<const uint8_t*> pictures;
    for (int index : view.pictures) {
      if (index < 0 ||
          (static_cast<size_t>(index) + 1) * clip.picture_bytes() > clip.pixels.size()) {
        return MakeError(Reason::kInternal,
                         absl::StrCat("a view names picture ", index, ", which the clip lacks"));
      }
      pictures.push_back(clip.picture(index));
    }
    PatchesFromPictures(pictures, pixels_, backbone, backbone_.patches());
    return absl::OkStatus();
  }

  absl::Status FillPatchesFromTensor(const Clip& clip) {
    const BackboneConfig& backbone = config().backbone;
    const size_t wanted = size_t{3} * backbone.frames * backbone.size * backbone.size;
    if (clip.tensor.size() != wanted || clip.views.size() != 1) {
      return MakeError(
          Reason::kInternal,
          absl::StrCat("the model takes ", wanted, " values in one view, the clip has ",
                       clip.tensor.size(), " in ", clip.views.size()));
    }
    PatchesFromVideo(clip.tensor.data(), backbone, backbone_.patches());
    return absl::OkStatus();
  }

  std::vector<float> Head(absl::Span<const float> pooled) {
    const auto width = static_cast<int64_t>(pooled.size());
    const auto classes = static_cast<int64_t>(config().classify.labels.size());
    RunGemm({.x = pooled.data(),
             .rows = 1,
             .inner = width,
             .x_stride = width,
             .weight = bundle_->weights().Data("head.weight"),
             .columns = classes,
             .bias = bundle_->weights().Data("head.bias"),
             .out = logits_.get()});
    return {logits_.get(), logits_.get() + classes};
  }

  static absl::Status CheckFinite(const std::vector<float>& logits) {
    for (size_t row = 0; row < logits.size(); ++row) {
      if (std::isfinite(logits[row])) continue;
      return MakeError(Reason::kNonFiniteOutput,
                       absl::StrCat("the model gave ", logits[row], " for row ", row,
                                    " of its class head; expected finite scores"));
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const ModelBundle> bundle_;
  const Kernels& kernels_;
  int threads_;
  PixelTable pixels_;
  Backbone backbone_;
  AlignedFloats logits_;
};

}  // namespace

absl::Status CheckKernel(const std::string& name) { return NamedKernels(name).status(); }

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Create(
    std::shared_ptr<const ModelBundle> bundle, const PredictorOptions& options) {
  SCANLINE_ASSIGN_OR_RETURN(const Kernels* kernels,
                            ChooseKernels(options, bundle->config().backbone));
  std::unique_ptr<Predictor> predictor;
  SCANLINE_RETURN_IF_ERROR(NoThrow([&] {
    predictor = std::make_unique<CpuPredictor>(std::move(bundle), *kernels, options.threads);
    return absl::OkStatus();
  }));
  return predictor;
}

}  // namespace scanline
