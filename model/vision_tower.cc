#include "model/vision_tower.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

// Whether the clip's pictures are what the model takes: its square, or any number of patches.
absl::Status CheckShape(PictureArea picture, PictureArea area, const BackboneConfig& config,
                        bool fixed_size) {
  const auto fits = [&](int side, int valid) {
    return (fixed_size ? side == config.size : side > 0 && side % config.patch == 0) && valid > 0 &&
           valid <= side;
  };
  if (fits(picture.width, area.width) && fits(picture.height, area.height)) {
    return absl::OkStatus();
  }
  return MakeError(Reason::kInternal,
                   absl::StrCat("the model takes pictures of ",
                                fixed_size ? absl::StrCat(config.size, "x", config.size)
                                           : absl::StrCat("multiples of ", config.patch),
                                ", the clip has ", picture.width, "x", picture.height));
}

absl::StatusOr<std::vector<const uint8_t*>> PicturesOf(const Clip& clip, const View& view,
                                                       const BackboneConfig& config) {
  if (static_cast<int>(view.pictures.size()) != config.frames) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the model takes ", config.frames,
                                  " pictures, the clip has a view of ", view.pictures.size()));
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

PassOptions WithPixels(PassOptions options, const PixelNorm& pixels) {
  options.pixels = pixels;
  return options;
}

bool IsStill(const View& view) {
  return std::all_of(view.pictures.begin(), view.pictures.end(),
                     [&](int picture) { return picture == view.pictures.front(); });
}

}  // namespace

VisionTower::Pass::Pass(const ModelConfig& config, const BackboneConfig& own,
                        const Weights& weights, const Kernels& kernels, PassOptions options)
    : backbone(own, weights, kernels, options) {
  const BackboneConfig& shaped = backbone.config();
  if (!config.classify.labels.empty()) classes.emplace(shaped, config.classify, weights);
  if (config.embed) embed.emplace(shaped, *config.embed, weights, kernels);
  if (config.detect) boxes.emplace(*config.detect, shaped.embed_dim, weights);
}

VisionTower::VisionTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
                         PassOptions options)
    : pixels_{config.mean, config.std},
      fixed_size_(config.fixed_size()),
      clips_(config, config.backbone, weights, kernels, WithPixels(options, pixels_)),
      seen_(&clips_) {
  if (config.backbone.still_as_image) {
    stills_.emplace(config, StillOf(config.backbone), weights, kernels,
                    WithPixels(options, pixels_));
  }
}

absl::Status VisionTower::FillPatches(const Clip& clip, const View& view) {
  SCANLINE_ASSIGN_OR_RETURN(std::vector<const uint8_t*> pictures,
                            PicturesOf(clip, view, clips_.backbone.config()));
  seen_ = stills_ && IsStill(view) ? &*stills_ : &clips_;
  Backbone& backbone = seen_->backbone;
  if (!fixed_size_) backbone.Reshape(picture_.height, picture_.width);
  pictures.resize(backbone.config().frames);
  PatchesFromPictures(pictures, pixels_, backbone.config(), backbone.pixel_patches(), area_);
  return absl::OkStatus();
}

absl::Status VisionTower::FillPatchesFromTensor(const Clip& clip) {
  const BackboneConfig& config = clips_.backbone.config();
  const size_t frame = size_t{3} * picture_.height * picture_.width;
  const bool still = stills_ && clip.tensor.size() == frame;
  if (clip.views.size() != 1 || (!still && clip.tensor.size() != frame * config.frames)) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the model takes ", frame * config.frames,
                                  " values in one view, the clip has ", clip.tensor.size(), " in ",
                                  clip.views.size()));
  }
  seen_ = still ? &*stills_ : &clips_;
  Backbone& backbone = seen_->backbone;
  if (!fixed_size_) backbone.Reshape(picture_.height, picture_.width);
  PatchesFromVideo(clip.tensor.data(), backbone.config(), backbone.patches());
  return absl::OkStatus();
}

absl::Status VisionTower::See(const Clip& clip, const View& view, bool patches) {
  picture_ = {clip.width, clip.height};
  area_ = {clip.valid_width > 0 ? clip.valid_width : picture_.width,
           clip.valid_height > 0 ? clip.valid_height : picture_.height};
  SCANLINE_RETURN_IF_ERROR(CheckShape(picture_, area_, clips_.backbone.config(), fixed_size_));
  SCANLINE_RETURN_IF_ERROR(clip.tensor.empty() ? FillPatches(clip, view)
                                               : FillPatchesFromTensor(clip));
  Backbone& backbone = seen_->backbone;
  const bool all = patches || backbone.config().pool != PoolKind::kCls;
  normed_ = backbone.Run(all ? Backbone::Rows::kAll : Backbone::Rows::kCls);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<float>>> VisionTower::BoxLogits(
    absl::Span<const Box> boxes) {
  seen_->boxes->See(normed_, seen_->backbone.config());
  std::vector<std::vector<float>> logits;
  for (const Box& box : boxes) {
    // Negated comparisons, so that NaN is refused too.
    if (!(box.x_min <= box.x_max) || !(box.y_min <= box.y_max) || !(box.x_min < area_.width) ||
        !(box.y_min < area_.height) || !(box.x_max >= 0) || !(box.y_max >= 0)) {
      return MakeError(
          Reason::kInternal,
          absl::StrCat("a box from ", box.x_min, ",", box.y_min, " to ", box.x_max, ",", box.y_max,
                       " is not in the picture of ", area_.width, "x", area_.height));
    }
    logits.push_back(seen_->boxes->Logits(box, area_));
  }
  return logits;
}

}  // namespace scanline
