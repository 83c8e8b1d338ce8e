#include "model/checkpoint/bundle_text.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace scanline {
namespace {

using json = nlohmann::ordered_json;

constexpr char kSsv2[] = "ssv2";  // the list and the sampling rule
constexpr char kAva[] = "ava";    // the sampling rule

json BackboneJson(const Architecture& architecture) {
  const BackboneConfig& b = architecture.backbone;
  json section = {{"arch", "videomamba"},
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
                  {"pool", PoolName(b.pool)}};
  if (b.still_as_image) section["still_as_image"] = true;
  return section;
}

// Of MCG-NJU/VideoMAE-Action-Detection (data/transforms.py): the short side to 256, nothing cut
// off, padded to whole patches of 16.
json DetectPreprocessJson(const BackboneConfig& backbone) {
  constexpr int kPadding = 16;
  return {{"resize", "short_side_256_pad16"},
          {"size", 256},
          {"pad_multiple", kPadding % backbone.patch == 0 ? kPadding : backbone.patch},
          {"mean", {122.7717, 115.9465, 102.9801}},
          {"std", {57.375, 57.375, 57.375}},
          {"range", "byte"}};
}

// Of the same (modeling_finetune.py, datasets.py): boxes 10 % wider and 5 % higher, RoIAlign 7 x 7
// that is not aligned, sigmoid, people of at least 0.8; every fourth of 64 frames at 30 a second.
json DetectJson(const LabelList& labels) {
  return {{"score", "sigmoid"},
          {"labels", "labels.txt"},
          {"label_index_offset", labels.index_offset},
          {"feature", "avg"},
          {"roi", {{"size", 7}, {"sampling_ratio", 0}, {"aligned", false}}},
          {"boxes", "inclusive"},
          {"enlarge_width", 0.1},
          {"enlarge_height", 0.05},
          {"keyframe_interval", 1},
          {"min_score", 0},
          {"min_person_score", 0.8}};
}

json SamplingJson(const BundleUse& use) {
  json section = {{"rule", use.rule},
                  {"temporal_views", use.temporal_views},
                  {"spatial_views", use.spatial_views}};
  if (use.rule != kAva) return section;
  section["frame_step"] = 4;
  section["frame_rate"] = 30;
  return section;
}

const char* Task(const Architecture& architecture) {
  return architecture.detect ? "detect" : "classify";
}

// What the official loaders do: classifiers, short side to the model's size, the centre cut out;
// multimodal models, the whole picture made square. ImageNet mean and deviation.
json PreprocessJson(const Architecture& architecture) {
  if (architecture.detect) return DetectPreprocessJson(architecture.backbone);
  return {{"resize", architecture.multimodal ? "square_bicubic" : "short_side_bilinear"},
          {"size", architecture.backbone.size},
          {"crop", "center"},
          {"mean", {0.485, 0.456, 0.406}},
          {"std", {0.229, 0.224, 0.225}},
          {"range", "unit"}};
}

json EmbedJson(const EmbedConfig& embed) {
  return {{"dim", embed.dim},
          {"normalize", embed.normalize},
          {"keep_temporal", embed.keep_temporal},
          {"pool_norm", embed.pool_norm},
          {"prompts", embed.prompts}};
}

json TextTowerJson(const TextTowerConfig& text) {
  return {{"type", "bert"},
          {"vocab", "vocab.txt"},
          {"dim", text.dim},
          {"depth", text.depth},
          {"fusion_depth", text.fusion_depth},
          {"heads", text.heads},
          {"intermediate", text.intermediate},
          {"max_positions", text.max_positions},
          {"max_length", text.max_length},
          {"official_cleanup", text.official_cleanup},
          {"special_tokens", text.special_tokens}};
}

const char* Score(const LabelList& labels) { return labels.exclusive ? "softmax" : "sigmoid"; }

}  // namespace

BundleUse UseFor(const Architecture& architecture, const LabelList& labels,
                 const BundleUse& wanted) {
  BundleUse official = {.rule = "k400_sparse", .temporal_views = 4, .spatial_views = 3};
  if (labels.name == kSsv2) official = {kSsv2, 2, 3};
  if (architecture.multimodal) official = {"middle", 1, 1};
  if (architecture.detect) official = {kAva, 1, 1};
  BundleUse use = wanted;
  if (use.rule.empty()) use.rule = official.rule;
  if (use.temporal_views == 0) use.temporal_views = official.temporal_views;
  if (use.spatial_views == 0) use.spatial_views = official.spatial_views;
  return use;
}

std::string ConfigText(const Architecture& architecture, const LabelList& labels,
                       const BundleUse& use, const BundleFacts& facts) {
  const bool multimodal = architecture.multimodal.has_value();
  json config = {
      {"format", 1},
      {"name", facts.name},
      {"version", "1"},
      {"license", facts.license},
      {"tasks", multimodal ? json::array({"embed", "match"}) : json::array({Task(architecture)})},
      {"backbone", BackboneJson(architecture)},
      {"preprocess", PreprocessJson(architecture)},
      {"sampling", SamplingJson(use)}};
  if (multimodal) {
    config["embed"] = EmbedJson(architecture.multimodal->embed);
    config["text_tower"] = TextTowerJson(architecture.multimodal->text);
  } else if (architecture.detect) {
    config["detect"] = DetectJson(labels);
  } else {
    config["classify"] = {{"score", Score(labels)},
                          {"labels", "labels.txt"},
                          {"label_index_offset", labels.index_offset}};
  }
  config["weights"] = {{"file", "model.safetensors"}, {"sha256", facts.weights_sha256}};
  config["source"] = {
      {"file", facts.source_file}, {"sha256", facts.source_sha256}, {"note", facts.source_note}};
  // A file's name need not be UTF-8; a config must be.
  return config.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

std::string TextRows(const Architecture& architecture, const LabelList& labels) {
  if (!architecture.multimodal) {
    return absl::StrCat(architecture.detect ? "| classes of boxes | " : "| classes | ",
                        labels.labels.size(), ", ",
                        labels.name.empty() ? "from a list of the user's"
                                            : absl::StrCat("list `", labels.name, "`"),
                        ", ", architecture.detect ? "sigmoid" : Score(labels), " |\n");
  }
  const Multimodal& m = *architecture.multimodal;
  return absl::StrCat("| embedding | ", m.embed.dim, " values, pool `", PoolName(m.pool), "`",
                      m.embed.keep_temporal ? " of each frame" : "", " |\n| text | BERT, ",
                      m.text.depth, " layers of width ", m.text.dim, ", ", m.text.heads,
                      " heads, then ", m.text.fusion_depth, " fusion layers; ", m.words,
                      " words, texts of ", m.text.max_length, " tokens |\n");
}

}  // namespace

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
      " views, rule `", use.rule, "` |\n", TextRows(architecture, labels),
      "\nAccuracy: not measured here.\n");
}

}  // namespace scanline
