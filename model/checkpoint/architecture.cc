#include "model/checkpoint/architecture.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr int kImageFrames = 8;  // What the official code gives an image model by default.

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat(parts...));
}

template <typename... Parts>
absl::Status WrongOption(const Parts&... parts) {
  return MakeError(Reason::kFieldInvalid, absl::StrCat(parts...));
}

// Sizes of the mixer, from the first layer; that the others agree is for the comparison with
// ExpectedTensors to say.
absl::Status InferMixer(const TensorShapes& shapes, BackboneConfig* out) {
  const std::string mixer = "layers.0.mixer.";
  SCANLINE_ASSIGN_OR_RETURN(const auto a_log, ShapeOf(shapes, mixer + "A_log", {2}));
  SCANLINE_ASSIGN_OR_RETURN(const auto conv, ShapeOf(shapes, mixer + "conv1d.weight", {3}));
  SCANLINE_ASSIGN_OR_RETURN(const auto dt_proj, ShapeOf(shapes, mixer + "dt_proj.weight", {2}));
  if (a_log[0] % out->embed_dim != 0) {
    return Invalid(mixer, "A_log has ", a_log[0], " rows, no multiple of the width ",
                   out->embed_dim);
  }
  out->expand = static_cast<int>(a_log[0] / out->embed_dim);
  out->d_state = static_cast<int>(a_log[1]);
  out->d_conv = static_cast<int>(conv[2]);
  out->dt_rank = static_cast<int>(dt_proj[1]);
  const bool biased = shapes.count("layers.0.norm.bias") != 0;
  out->norm = biased ? NormKind::kLayer : NormKind::kRms;
  return absl::OkStatus();
}

absl::Status InferPreset(const TensorShapes& shapes, const std::string& wanted, Architecture* out) {
  constexpr char kShared[] = "videomambapro_v1";
  const bool shared = shapes.count("layers.0.mixer.conv1d_b.weight") == 0;
  out->mixer = !wanted.empty() ? wanted : shared ? kShared : "videomamba";
  out->mixer_known = shared;
  const auto preset = MixerPreset(out->mixer);
  if (!preset) {
    return WrongOption("--mixer ", wanted,
                       ": expected videomamba, videomambapro_v1, videomambapro_v2, "
                       "videomambapro_intended or videomambapro_paper");
  }
  if (preset->shared != shared) {
    return WrongOption("--mixer ", wanted, " does not fit the file, which has ",
                       shared ? "no layers.*.mixer.conv1d_b: it is videomambapro_v1"
                              : "layers.*.mixer.conv1d_b: it is none with shared parameters");
  }
  out->backbone.mixer = *preset;
  return absl::OkStatus();
}

absl::Status InferSize(const TensorShapes& shapes, int wanted, Architecture* out) {
  SCANLINE_ASSIGN_OR_RETURN(const auto position, ShapeOf(shapes, "pos_embed", {3}));
  const int64_t patches = position[1] - 1;
  const auto grid = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(patches))));
  if (grid < 1 || grid * grid != patches) {
    return Invalid("pos_embed has ", position[1], " entries: 1 for cls and ", patches,
                   " for patches, which are no square");
  }
  out->stored_size = static_cast<int>(grid) * out->backbone.patch;
  out->backbone.size = wanted > 0 ? wanted : out->stored_size;
  if (out->backbone.size % out->backbone.patch != 0) {
    return WrongOption("--size ", wanted, " is no multiple of the patch, ", out->backbone.patch);
  }
  return absl::OkStatus();
}

absl::Status InferFrames(const TensorShapes& shapes, int wanted, Architecture* out) {
  BackboneConfig& backbone = out->backbone;
  if (!out->image) {
    SCANLINE_ASSIGN_OR_RETURN(const auto temporal, ShapeOf(shapes, "temporal_pos_embedding", {3}));
    out->stored_frames = static_cast<int>(temporal[1]) * backbone.tubelet;
  }
  backbone.frames = wanted > 0 ? wanted : out->image ? kImageFrames : out->stored_frames;
  if (backbone.frames % backbone.tubelet != 0) {
    return WrongOption("--frames ", backbone.frames, " is no multiple of the tubelet, ",
                       backbone.tubelet);
  }
  return absl::OkStatus();
}

absl::Status InferPatch(const TensorShapes& shapes, int wanted_tubelet, Architecture* out) {
  SCANLINE_ASSIGN_OR_RETURN(const auto patch, ShapeOf(shapes, "patch_embed.proj.weight", {4, 5}));
  out->image = patch.size() == 4;
  out->backbone.embed_dim = static_cast<int>(patch[0]);
  out->backbone.patch = static_cast<int>(patch.back());
  if (!out->image && wanted_tubelet > 0 && wanted_tubelet != patch[2]) {
    return WrongOption("--tubelet ", wanted_tubelet, " does not fit the file, whose patches span ",
                       patch[2], " frames");
  }
  out->backbone.tubelet = out->image ? std::max(wanted_tubelet, 1) : static_cast<int>(patch[2]);
  return absl::OkStatus();
}

absl::Status InferClasses(const TensorShapes& shapes, int* classes) {
  if (shapes.count("head.weight") == 0 && shapes.count("cls_token") != 0) {
    return Invalid(
        "there is no class head (head.weight): this is a pre-trained backbone, which must be "
        "fine-tuned before it can classify");
  }
  SCANLINE_ASSIGN_OR_RETURN(const auto head, ShapeOf(shapes, "head.weight", {2}));
  *classes = static_cast<int>(head[0]);
  return absl::OkStatus();
}

bool HasTextTower(const TensorShapes& shapes) {
  const auto text = shapes.lower_bound("text_encoder.");
  return text != shapes.end() && absl::StartsWith(text->first, "text_encoder.");
}

}  // namespace

std::string Architecture::Name() const {
  struct Size {
    int dim, depth;
    const char* name;
  };
  const std::string family = mixer == "videomamba" ? "VideoMamba" : "VideoMambaPro";
  for (const Size& size : {Size{192, 24, "Tiny"}, Size{384, 24, "Small"}, Size{576, 32, "Middle"},
                           Size{768, 24, "Base"}}) {
    if (backbone.embed_dim == size.dim && backbone.depth == size.depth) {
      return absl::StrCat(family, "-", size.name);
    }
  }
  return absl::StrCat(family, " of its own size");
}

absl::StatusOr<Architecture> InferArchitecture(const TensorShapes& shapes,
                                               const ArchitectureOptions& options) {
  Architecture result;
  SCANLINE_RETURN_IF_ERROR(InferPatch(shapes, options.tubelet, &result));
  result.backbone.depth = LayersUnder(shapes, "layers.");
  SCANLINE_RETURN_IF_ERROR(InferMixer(shapes, &result.backbone));
  SCANLINE_RETURN_IF_ERROR(InferPreset(shapes, options.mixer, &result));
  SCANLINE_RETURN_IF_ERROR(InferSize(shapes, options.size, &result));
  SCANLINE_RETURN_IF_ERROR(InferFrames(shapes, options.frames, &result));
  if (!HasTextTower(shapes)) {
    SCANLINE_RETURN_IF_ERROR(InferClasses(shapes, &result.classes));
    result.detect = options.detect;
    return result;
  }
  if (options.detect) {
    return WrongOption("--detect: this is a model of video and text, which has no head of boxes");
  }
  SCANLINE_RETURN_IF_ERROR(
      InferMultimodal(shapes, options.multimodal, &result.multimodal.emplace()));
  result.backbone.pool = result.multimodal->pool;
  result.backbone.still_as_image = result.backbone.tubelet == 1;
  return result;
}

}  // namespace scanline
