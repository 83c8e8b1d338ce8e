#include "model/checkpoint/bundle_text.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace scanline {
namespace {

using json = nlohmann::ordered_json;

constexpr char kSsv2[] = "ssv2";  // the list and the sampling rule

json BackboneJson(const Architecture& architecture) {
  const BackboneConfig& b = architecture.backbone;
  return {{"arch", "videomamba"},
          {"embed_dim", b.embed_dim},
          {"depth", b.depth},
          {"d_state", b.d_state},
          {"d_conv", b.d_conv},
          {"expand", b.expand},
          {"dt_rank", b.dt_rank},
          {"norm", b.norm == NormKind::kRms ? "rms" : "layer"},
          {"norm_eps", 1e-5},
          {"patch", b.patch},
          {"tubelet", b.tubelet},
          {"frames", b.frames},
          {"size", b.size},
          {"scan_order", "spatial_first"},
          {"mixer", architecture.mixer},
          {"pool", "cls"}};
}

const char* Score(const LabelList& labels) { return labels.exclusive ? "softmax" : "sigmoid"; }

}  // namespace

BundleUse UseFor(const LabelList& labels, const BundleUse& wanted) {
  const bool ssv2 = labels.name == kSsv2;
  BundleUse use = wanted;
  if (use.rule.empty()) use.rule = ssv2 ? kSsv2 : "k400_sparse";
  if (use.temporal_views == 0) use.temporal_views = ssv2 ? 2 : 4;
  if (use.spatial_views == 0) use.spatial_views = 3;
  return use;
}

std::string ConfigText(const Architecture& architecture, const LabelList& labels,
                       const BundleUse& use, const BundleFacts& facts) {
  const json config = {
      {"format", 1},
      {"name", facts.name},
      {"version", "1"},
      {"license", facts.license},
      {"tasks", {"classify"}},
      {"backbone", BackboneJson(architecture)},
      // What the official loaders do: short side to the model's size, ImageNet mean and deviation.
      {"preprocess",
       {{"resize", "short_side_bilinear"},
        {"size", architecture.backbone.size},
        {"crop", "center"},
        {"mean", {0.485, 0.456, 0.406}},
        {"std", {0.229, 0.224, 0.225}},
        {"range", "unit"}}},
      {"sampling",
       {{"rule", use.rule},
        {"temporal_views", use.temporal_views},
        {"spatial_views", use.spatial_views}}},
      {"classify",
       {{"score", Score(labels)},
        {"labels", "labels.txt"},
        {"label_index_offset", labels.index_offset}}},
      {"weights", {{"file", "model.safetensors"}, {"sha256", facts.weights_sha256}}},
      {"source",
       {{"file", facts.source_file},
        {"sha256", facts.source_sha256},
        {"note", facts.source_note}}}};
  // A file's name need not be UTF-8; a config must be.
  return config.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string CardText(const Architecture& architecture, const LabelList& labels,
                     const BundleUse& use, const BundleFacts& facts) {
  const BackboneConfig& b = architecture.backbone;
  return absl::StrCat(
      "# ", facts.name, "\n\n", architecture.Name(), ", imported by `scanline import`. The facts\n",
      "below are read off the file; what it was trained on and how well it does, add here.\n\n",
      "| | |\n|---|---|\n", "| licence | ", facts.license, " |\n| source | `", facts.source_file,
      "`, SHA-256 `", facts.source_sha256, "` |\n| | ", facts.source_note, " |\n| weights | ",
      facts.parameters, " values, SHA-256 `", facts.weights_sha256, "` |\n| backbone | ", b.depth,
      " layers of width ", b.embed_dim, ", mixer `", architecture.mixer, "` |\n| input | ",
      b.frames, " frames of ", b.size, " px; ", use.temporal_views, " x ", use.spatial_views,
      " views, rule `", use.rule, "` |\n| classes | ", labels.labels.size(), ", ",
      labels.name.empty() ? "from a list of the user's" : absl::StrCat("list `", labels.name, "`"),
      ", ", Score(labels), " |\n\nAccuracy: not measured here.\n");
}

}  // namespace scanline
