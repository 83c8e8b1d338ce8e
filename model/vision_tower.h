#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/box.h"
#include "base/clip.h"
#include "model/backbone.h"
#include "model/config.h"
#include "model/detect/box_head.h"
#include "model/heads.h"
#include "model/kernels/kernels.h"
#include "model/patches.h"
#include "model/weights.h"

namespace scanline {

// Pictures to what a request asks of them: See a view, then read as many heads as are wanted.
// Keeps pointers into `weights`. Not reentrant; may throw what tensor_ops.h throws.
class VisionTower {
 public:
  VisionTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
              PassOptions options = {});

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
  const float* patch_tokens() const { return normed_ + seen_->backbone.config().embed_dim; }
  int patch_count() const { return seen_->backbone.config().tokens() - 1; }

 private:
  struct Pass {
    Pass(const ModelConfig& config, const BackboneConfig& own, const Weights& weights,
         const Kernels& kernels, PassOptions options);
    Pass(const Pass&) = delete;  // its heads point at its backbone

    Backbone backbone;
    std::optional<ClassHead> classes;
    std::optional<EmbedHead> embed;
    std::optional<BoxHead> boxes;
  };

  // Choose the pass and fill its patches.
  absl::Status FillPatches(const Clip& clip, const View& view);
  absl::Status FillPatchesFromTensor(const Clip& clip);

  PixelNorm pixels_;
  bool fixed_size_;
  Pass clips_;
  std::optional<Pass> stills_;  // where backbone.still_as_image says so
  Pass* seen_;
  const float* normed_ = nullptr;
  PictureArea picture_;  // all of it
  PictureArea area_;     // the part that shows something
};

}  // namespace scanline
