#include "model/vision_tower.h"

#include <algorithm>
#include <cstdint>
#include <utility>

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

bool IsStill(const View& view) {
  return std::all_of(view.pictures.begin(), view.pictures.end(),
                     [&](int picture) { return picture == view.pictures.front(); });
}

}  // namespace

VisionTower::Pass::Pass(const ModelConfig& config, const BackboneConfig& own,
                        const Weights& weights, const Kernels& kernels, PassOptions options,
                        bool on_cpu)
    : shape(own) {
  if (on_cpu) backbone.emplace(own, weights, kernels, options);
  if (!config.classify.labels.empty()) classes.emplace(shape, config.classify, weights);
  if (config.embed) embed.emplace(shape, *config.embed, weights, kernels);
  if (config.detect) boxes.emplace(*config.detect, shape.embed_dim, weights);
}

VisionTower::VisionTower(const ModelConfig& config, const Weights& weights, const Kernels& kernels,
                         PassOptions options, std::unique_ptr<CudaBackbone> gpu)
    : pixels_{config.mean, config.std},
      fixed_size_(config.fixed_size()),
      gpu_(std::move(gpu)),
      clips_(config, config.backbone, weights, kernels, Complete(options), gpu_ == nullptr),
      seen_(&clips_) {
  if (config.backbone.still_as_image) {
    stills_.emplace(config, StillOf(config.backbone), weights, kernels, Complete(options),
                    gpu_ == nullptr);
  }
}

PassOptions VisionTower::Complete(PassOptions options) {
  options.pixels = pixels_;
  options.arena = &arena_;
  return options;
}

absl::Status VisionTower::LookAtPictures(const Sight& sight, Look* look) const {
  SCANLINE_ASSIGN_OR_RETURN(look->input.pictures,
                            PicturesOf(*sight.clip, *sight.view, clips_.shape));
  look->still = stills_ && IsStill(*sight.view);
  if (look->still) look->input.pictures.resize(stills_->shape.frames);
  look->input.area = look->area;
  return absl::OkStatus();
}

absl::Status VisionTower::LookAtTensor(const Clip& clip, Look* look) const {
  const size_t frame = size_t{3} * look->picture.height * look->picture.width;
  look->still = stills_ && clip.tensor.size() == frame;
  if (clip.views.size() != 1 ||
      (!look->still && clip.tensor.size() != frame * clips_.shape.frames)) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the model takes ", frame * clips_.shape.frames,
                                  " values in one view, the clip has ", clip.tensor.size(), " in ",
                                  clip.views.size()));
  }
  look->input.video = clip.tensor.data();
  return absl::OkStatus();
}

absl::StatusOr<VisionTower::Look> VisionTower::LookAt(const Sight& sight) const {
  const Clip& clip = *sight.clip;
  Look look;
  look.picture = {clip.width, clip.height};
  look.area = {clip.valid_width > 0 ? clip.valid_width : clip.width,
               clip.valid_height > 0 ? clip.valid_height : clip.height};
  look.all_rows = sight.patches || clips_.shape.pool != PoolKind::kCls;
  SCANLINE_RETURN_IF_ERROR(CheckShape(look.picture, look.area, clips_.shape, fixed_size_));
  SCANLINE_RETURN_IF_ERROR(clip.tensor.empty() ? LookAtPictures(sight, &look)
                                               : LookAtTensor(clip, &look));
  return look;
}

void VisionTower::RunOnCpu(const Look& look) {
  Backbone& backbone = *seen_->backbone;
  if (!fixed_size_) backbone.Reshape(look.picture.height, look.picture.width);
  seen_->shape = backbone.config();
  if (look.input.video != nullptr) {
    PatchesFromVideo(look.input.video, seen_->shape, backbone.patches());
  } else {
    PatchesFromPictures(look.input.pictures, pixels_, seen_->shape, backbone.pixel_patches(),
                        look.area);
  }
  normed_ = backbone.Run(look.all_rows ? Backbone::Rows::kAll : Backbone::Rows::kCls);
}

void VisionTower::Expect(const std::vector<Sight>& sights) {
  expected_.clear();
  if (gpu_ == nullptr) return;
  for (const Sight& sight : sights) expected_.push_back({sight, {}});
}

// Those of the next views that make one batch with the first: the same shape and rows. As many as a
// graph takes, and as fit into a host memory that a server can spare.
absl::Status VisionTower::RunGroup(const Look& first) {
  constexpr size_t kMostFloats = size_t{64} << 20;
  BackboneConfig shape = seen_->shape;
  const size_t rows = first.all_rows ? shape.tokens() : 1;
  const size_t floats = rows * shape.embed_dim;
  const size_t most = std::clamp<size_t>(kMostFloats / floats, 1, cuda::kMostViews);
  std::vector<ViewInput> inputs;
  std::vector<Expected*> group;
  for (Expected& next : expected_) {
    if (group.size() == most) break;
    const bool unwanted =
        next.sight.cancel != nullptr && !next.sight.cancel->Check(Reason::kExpiredInInference).ok();
    if (!next.normed.empty() || (unwanted && !group.empty())) continue;
    absl::StatusOr<Look> look = LookAt(next.sight);
    if (!look.ok() || look->still != first.still || look->all_rows != first.all_rows ||
        look->picture.width != first.picture.width ||
        look->picture.height != first.picture.height ||
        (look->input.video == nullptr) != (first.input.video == nullptr)) {
      continue;  // An error is told when the view is seen.
    }
    inputs.push_back(std::move(look->input));
    group.push_back(&next);
  }
  std::vector<float> normed(inputs.size() * floats);
  SCANLINE_RETURN_IF_ERROR(gpu_->Run(inputs, shape, first.all_rows, normed.data()));
  for (size_t i = 0; i < group.size(); ++i) {
    const auto from = normed.begin() + static_cast<ptrdiff_t>(i * floats);
    group[i]->normed.assign(from, from + static_cast<ptrdiff_t>(floats));
  }
  return absl::OkStatus();
}

absl::Status VisionTower::RunOnGpu(const Sight& sight, const Look& look) {
  if (!fixed_size_) {
    seen_->shape = ForPictures(seen_->shape, look.picture.height, look.picture.width);
  }
  const auto here = [&](const Expected& next) {
    return next.sight.view == sight.view && next.sight.clip == sight.clip &&
           next.sight.patches == sight.patches;
  };
  const auto found = std::find_if(expected_.begin(), expected_.end(), here);
  if (found == expected_.end()) {
    expected_.push_front({sight, {}});
  } else {
    expected_.erase(expected_.begin(), found);  // not seen after all
  }
  if (expected_.front().normed.empty()) SCANLINE_RETURN_IF_ERROR(RunGroup(look));
  tokens_ = std::move(expected_.front().normed);
  expected_.pop_front();
  normed_ = tokens_.data();
  return absl::OkStatus();
}

absl::Status VisionTower::See(const Clip& clip, const View& view, bool patches) {
  const Sight sight{.clip = &clip, .view = &view, .patches = patches};
  SCANLINE_ASSIGN_OR_RETURN(const Look look, LookAt(sight));
  seen_ = look.still ? &*stills_ : &clips_;
  area_ = look.area;
  if (gpu_ != nullptr) return RunOnGpu(sight, look);
  RunOnCpu(look);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<float>>> VisionTower::BoxLogits(
    absl::Span<const Box> boxes) {
  seen_->boxes->See(normed_, seen_->shape);
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
