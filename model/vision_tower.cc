#include "model/vision_tower.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

absl::StatusOr<std::vector<const uint8_t*>> PicturesOf(const Clip& clip, const View& view,
                                                       const BackboneConfig& config) {
  if (clip.width != config.size || clip.height != config.size ||
      static_cast<int>(view.pictures.size()) != config.frames) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the model takes ", config.frames, " pictures of ", config.size,
                                  "x", config.size, ", the clip has a view of ",
                                  view.pictures.size(), " of ", clip.width, "x", clip.height));
  }
  std::vector<const uint8_t*> pictures;
  for (int index : view.pictures) {
    if (index < 0 || (static_cast<size_t>(index) + 1) * clip.picture_bytes() > clip.pixels.size()) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("a view names picture ", index, ", which the clip lacks"));
    }
    pictures.push_back(clip.picture(index));
  }
  return pictures;
}

bool IsStill(const View& view) {
  return std::all_of(view.pictures.begin(), view.pictures.end(),
                     [&](int picture) { return picture == view.pictures.front(); });
}

}  // namespace

VisionTower::Pass::Pass(const ModelConfig& config, const BackboneConfig& own,
                        const Weights& weights, const Kernels& kernels)
    : backbone(own, weights, kernels) {
  if (!config.classify.labels.empty()) classes.emplace(own, config.classify, weights);
  if (config.embed) embed.emplace(own, *config.embed, weights, kernels);
}

VisionTower::VisionTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels)
    : pixels_(MakePixelTable(config.mean, config.std)),
      clips_(config, config.backbone, weights, kernels),
      seen_(&clips_) {
  if (config.backbone.still_as_image) {
    stills_.emplace(config, StillOf(config.backbone), weights, kernels);
  }
}

absl::Status VisionTower::FillPatches(const Clip& clip, const View& view) {
  SCANLINE_ASSIGN_OR_RETURN(std::vector<const uint8_t*> pictures,
                            PicturesOf(clip, view, clips_.backbone.config()));
  seen_ = stills_ && IsStill(view) ? &*stills_ : &clips_;
  Backbone& backbone = seen_->backbone;
  pictures.resize(backbone.config().frames);
  PatchesFromPictures(pictures, pixels_, backbone.config(), backbone.patches());
  return absl::OkStatus();
}

absl::Status VisionTower::FillPatchesFromTensor(const Clip& clip) {
  const BackboneConfig& config = clips_.backbone.config();
  const size_t frame = size_t{3} * config.size * config.size;
  const bool still = stills_ && clip.tensor.size() == frame;
  if (clip.views.size() != 1 || (!still && clip.tensor.size() != frame * config.frames)) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the model takes ", frame * config.frames,
                                  " values in one view, the clip has ", clip.tensor.size(), " in ",
                                  clip.views.size()));
  }
  seen_ = still ? &*stills_ : &clips_;
  Backbone& backbone = seen_->backbone;
  PatchesFromVideo(clip.tensor.data(), backbone.config(), backbone.patches());
  return absl::OkStatus();
}

absl::Status VisionTower::See(const Clip& clip, const View& view, bool patches) {
  SCANLINE_RETURN_IF_ERROR(clip.tensor.empty() ? FillPatches(clip, view)
                                               : FillPatchesFromTensor(clip));
  Backbone& backbone = seen_->backbone;
  const bool all = patches || backbone.config().pool != PoolKind::kCls;
  normed_ = backbone.Run(all ? Backbone::Rows::kAll : Backbone::Rows::kCls);
  return absl::OkStatus();
}

}  // namespace scanline
