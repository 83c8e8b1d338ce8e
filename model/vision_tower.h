#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/box.h"
#include "base/cancel.h"
#include "base/clip.h"
#include "model/backbone.h"
#include "model/config.h"
#include "model/cuda/cuda_backbone.h"
#include "model/detect/box_head.h"
#include "model/heads.h"
#include "model/kernels/kernels.h"
#include "model/patches.h"
#include "model/weights.h"

namespace scanline {

// A view that will be seen.
struct Sight {
  const Clip* clip = nullptr;
  const View* view = nullptr;
  bool patches = false;            // as See has it
  const Cancel* cancel = nullptr;  // null: wanted whatever happens
};

// Pictures to what a request asks of them: See a view, then read as many heads as are wanted.
// Keeps pointers into `weights`. Not reentrant; may throw what tensor_ops.h throws.
class VisionTower {
 public:
  // The pictures' normalisation and the arena among `options` are the tower's own. `gpu`: what runs
  // the backbone instead of the CPU; null: the CPU.
  VisionTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
              PassOptions options = {}, std::unique_ptr<CudaBackbone> gpu = nullptr);

  // What will be seen from now on, in this order, so that a GPU runs many views at once; what is
  // not seen after all is skipped. Clips and views are borrowed until then. Nothing to do on a CPU.
  void Expect(const std::vector<Sight>& sights);

  // Runs the backbone on one view. `patches`: PatchTokens will be read; without, the final norm is
  // taken only of what the heads read. INTERNAL for a clip that the model does not take, which is a
  // bug of the caller: it costs one answer, not the process.
  absl::Status See(const Clip& clip, const View& view, bool patches);

  // Of the view seen last. The first needs a classify section, the second an embed section.
  std::vector<float> Logits() { return seen_->classes->Run(normed_); }
  VisionEmbedding Embed() { return seen_->embed->Run(normed_); }

  // The box head's logits of each box, in pixels of the clip's pictures; needs a detect section and
  // See with `patches`. INTERNAL for a box that is not finite or shows nothing of the picture.
  absl::StatusOr<std::vector<std::vector<float>>> BoxLogits(absl::Span<const Box> boxes);

  // The patch tokens after the final norm, [patch_count][embed_dim], good until the next See.
  const float* patch_tokens() const { return normed_ + seen_->shape.embed_dim; }
  int patch_count() const { return seen_->shape.tokens() - 1; }

 private:
  struct Pass {
    Pass(const ModelConfig& config, const BackboneConfig& own, const Weights& weights,
         const Kernels& kernels, PassOptions options, bool on_cpu);
    Pass(const Pass&) = delete;  // its heads point at its shape

    BackboneConfig shape;  // of the pictures seen last
    std::optional<Backbone> backbone;
    std::optional<ClassHead> classes;
    std::optional<EmbedHead> embed;
    std::optional<BoxHead> boxes;
  };

  // A view, checked: what the backbone reads of it.
  struct Look {
    bool still = false;    // of stills_
    PictureArea picture;   // all of it
    PictureArea area;      // the part that shows something
    bool all_rows = true;  // of the tokens; else cls alone
    ViewInput input;
  };

  PassOptions Complete(PassOptions options);
  absl::StatusOr<Look> LookAt(const Sight& sight) const;
  absl::Status LookAtPictures(const Sight& sight, Look* look) const;
  absl::Status LookAtTensor(const Clip& clip, Look* look) const;
  void RunOnCpu(const Look& look);
  absl::Status RunOnGpu(const Sight& sight, const Look& look);
  absl::Status RunGroup(const Look& first);

  PixelNorm pixels_;
  bool fixed_size_;
  std::unique_ptr<CudaBackbone> gpu_;
  Arena arena_;  // of both forms of pass on a CPU
  Pass clips_;
  std::optional<Pass> stills_;  // where backbone.still_as_image says so
  Pass* seen_;
  const float* normed_ = nullptr;
  PictureArea area_;  // of the view seen last

  // On a GPU: what is expected, the next first, and the tokens of views that were run already.
  struct Expected {
    Sight sight;
    std::vector<float> normed;
  };
  std::deque<Expected> expected_;
  std::vector<float> tokens_;  // of the view seen last
};

}  // namespace scanline
