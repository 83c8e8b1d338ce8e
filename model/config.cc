#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/strict_json.h"
#include "model/text_list.h"

namespace scanline {
namespace {

using nlohmann::json;
using ScanInput = MixerConfig::ScanInput;
using Init = MixerConfig::Init;
using Residual = MixerConfig::Residual;

constexpr int kMaxSide = 16'384;  // of any one size: keeps every product of three inside int64
constexpr size_t kMaxPrompts = 1'000;

struct Preset {
  const char* name;
  MixerConfig mixer;
};

constexpr Preset kPresets[] = {
    {"videomamba", {}},
    {"videomambapro_v1",
     {.shared = true,
      .scan_input = ScanInput::kRaw,
      .init = Init::kFirstToken,
      .mask_backward = true}},
    {"videomambapro_v2", {.scan_input = ScanInput::kRaw, .init = Init::kFirstToken}},
    {"videomambapro_intended", {.init = Init::kFirstToken, .mask_backward = true}},
    {"videomambapro_paper", {.mask_backward = true, .residual = Residual::kCumulative}},
};

constexpr std::initializer_list<std::pair<const char*, ScoreKind>> kScores = {
    {"softmax", ScoreKind::kSoftmax}, {"sigmoid", ScoreKind::kSigmoid}};

// A name inside the bundle's folder, so that no bundle can point out of it.
void FileName(JsonSection& section, const char* key, std::string* out) {
  std::string name;
  section.String(key, &name);
  if (!section.ok()) return;
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    const json found = name;
    section.Wrong(key, "the name of a file in the bundle's folder", &found);
    return;
  }
  *out = name;
}

// A part of the name that requests call the model by.
void ModelId(JsonSection& section, const char* key, std::string* out) {
  section.String(key, out);
  if (!section.ok() || IsModelId(*out)) return;
  const json found = *out;
  section.Wrong(key, "up to 64 of a-z 0-9 . _ -, the first a letter or a digit", &found);
}

void Float(JsonSection& section, const char* key, double low, double high, float* out) {
  double value = 0;
  section.Real(key, low, high, &value);
  if (section.ok()) *out = static_cast<float>(value);
}

absl::Status ReadMixer(const json& value, MixerConfig* out) {
  if (value.is_string()) {
    const auto preset = MixerPreset(value.get_ref<const std::string&>());
    if (preset) {
      *out = *preset;
      return absl::OkStatus();
    }
    std::string names;
    for (const Preset& known : kPresets) names += std::string(known.name) + ", ";
    return MakeError(Reason::kBundleInvalid, "config.json: backbone.mixer: expected " + names +
                                                 "or an object of six switches, found " +
                                                 value.dump());
  }
  JsonSection section(value, "backbone.mixer");
  section.Bool("shared", &out->shared);
  section.Choice<ScanInput>("scan_input", {{"conv", ScanInput::kConv}, {"raw", ScanInput::kRaw}},
                            &out->scan_input);
  section.Choice<Init>("init", {{"zero", Init::kZero}, {"first_token", Init::kFirstToken}},
                       &out->init);
  section.Bool("mask_backward", &out->mask_backward);
  section.Choice<Residual>("residual",
                           {{"none", Residual::kNone}, {"cumulative", Residual::kCumulative}},
                           &out->residual);
  section.Bool("gate", &out->gate);
  return section.Finish();
}

void ReadSizes(JsonSection& section, BackboneConfig* out) {
  section.Int("embed_dim", 1, kMaxSide, &out->embed_dim);
  section.Int("depth", 1, 1024, &out->depth);
  if (section.Has("d_state")) section.Int("d_state", 1, 256, &out->d_state);
  if (section.Has("d_conv")) section.Int("d_conv", 1, 16, &out->d_conv);
  if (section.Has("expand")) section.Int("expand", 1, 16, &out->expand);
  out->dt_rank = (out->embed_dim + 15) / 16;
  if (section.Has("dt_rank")) section.Int("dt_rank", 1, kMaxSide, &out->dt_rank);
  if (section.Has("norm_eps")) Float(section, "norm_eps", 0, 1, &out->norm_eps);
  section.Int("patch", 1, 1024, &out->patch);
  section.Int("tubelet", 1, 1024, &out->tubelet);
  section.Int("frames", 1, 1024, &out->frames);
  section.Int("size", 1, 4096, &out->size);
}

absl::Status ReadBackbone(const json& value, BackboneConfig* out) {
  JsonSection section(value, "backbone");
  std::string arch;
  section.Choice<std::string>("arch", {{"videomamba", "videomamba"}}, &arch);
  ReadSizes(section, out);
  if (section.Has("norm")) {
    section.Choice<NormKind>("norm", {{"rms", NormKind::kRms}, {"layer", NormKind::kLayer}},
                             &out->norm);
  }
  if (section.Has("scan_order")) {
    section.Choice<ScanOrder>("scan_order",
                              {{"spatial_first", ScanOrder::kSpatialFirst},
                               {"temporal_first", ScanOrder::kTemporalFirst},
                               {"alternating", ScanOrder::kAlternating}},
                              &out->scan_order);
  }
  if (section.Has("still_as_image")) section.Bool("still_as_image", &out->still_as_image);
  if (section.Has("pool")) {
    section.Choice<PoolKind>("pool",
                             {{"cls", PoolKind::kCls},
                              {"avg", PoolKind::kAvg},
                              {"cls+avg", PoolKind::kClsPlusAvg},
                              {"cls+avg|delta|max", PoolKind::kClsPlusAvgDeltaMax}},
                             &out->pool);
  }
  if (const json* mixer = section.Take("mixer"); mixer != nullptr && section.ok()) {
    SCANLINE_RETURN_IF_ERROR(ReadMixer(*mixer, &out->mixer));
  }
  SCANLINE_RETURN_IF_ERROR(section.Finish());
  if (out->frames % out->tubelet != 0) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: backbone.frames must be a multiple of backbone.tubelet");
  }
  if (out->size % out->patch != 0) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: backbone.size must be a multiple of backbone.patch");
  }
  if (out->pool == PoolKind::kClsPlusAvgDeltaMax && out->steps() < 2) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: backbone.pool cls+avg|delta|max compares the halves of a clip: "
                     "frames / tubelet must be at least 2");
  }
  if (out->still_as_image && (out->tubelet != 1 || out->pool == PoolKind::kClsPlusAvgDeltaMax)) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: backbone.still_as_image: one picture is one step only where "
                     "tubelet is 1 and pool compares no steps");
  }
  return absl::OkStatus();
}

absl::Status ReadPreprocess(const json& value, ModelConfig* out) {
  JsonSection section(value, "preprocess");
  section.Choice<ResizeRule>("resize",
                             {{"short_side_bilinear", ResizeRule::kShortSideBilinear},
                              {"square_bicubic", ResizeRule::kSquareBicubic},
                              {"short_side_256_pad16", ResizeRule::kShortSide256Pad16},
                              {"centre_square_area", ResizeRule::kCentreSquareArea}},
                             &out->frame_spec.resize);
  std::string only;
  if (out->fixed_size()) {
    section.Int("size", out->backbone.size, out->backbone.size, &out->frame_spec.size);
    if (section.Has("crop")) section.Choice<std::string>("crop", {{"center", "center"}}, &only);
  } else {
    section.Int("size", 1, 4096, &out->frame_spec.size);
    if (section.Has("pad_multiple")) {
      section.Int("pad_multiple", 1, 4096, &out->frame_spec.pad_multiple);
    }
  }
  float whole = 1;  // what the mean and the deviation take for white
  if (section.Has("range")) section.Choice<float>("range", {{"unit", 1}, {"byte", 255}}, &whole);
  section.Triple("mean", -1000, 1000, out->mean.data());
  section.Triple("std", 1e-6, 1000, out->std.data());
  for (float& value : out->mean) value /= whole;
  for (float& value : out->std) value /= whole;
  SCANLINE_RETURN_IF_ERROR(section.Finish());
  const FrameSpec& spec = out->frame_spec;
  if (!out->fixed_size() &&
      (spec.pad_multiple % out->backbone.patch != 0 || spec.size % spec.pad_multiple != 0)) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: preprocess: size must be a multiple of pad_multiple, and that "
                     "of backbone.patch");
  }
  return absl::OkStatus();
}

absl::Status ReadSampling(const json& value, int frames, FrameSpec* out) {
  JsonSection section(value, "sampling");
  SamplingSpec& sampling = out->sampling;
  section.Choice<SamplingRule>("rule",
                               {{"uniform", SamplingRule::kUniform},
                                {"k400_sparse", SamplingRule::kK400Sparse},
                                {"k400_dense", SamplingRule::kK400Dense},
                                {"ssv2", SamplingRule::kSsv2},
                                {"middle", SamplingRule::kMiddle},
                                {"ava", SamplingRule::kAva},
                                {"window", SamplingRule::kWindow}},
                               &sampling.rule);
  sampling.frames = frames;
  if (section.Has("frames")) section.Int("frames", frames, frames, &sampling.frames);
  if (section.Has("temporal_views")) {
    section.Int("temporal_views", 1, 100, &sampling.temporal_views);
  }
  if (section.Has("spatial_views")) section.Int("spatial_views", 1, 3, &out->spatial_views);
  if (section.Has("frame_step")) section.Int("frame_step", 1, 1024, &sampling.frame_step);
  if (sampling.rule == SamplingRule::kAva && section.Has("frame_rate")) {
    section.Real("frame_rate", 0, 1000, &sampling.frame_rate);
  }
  if (sampling.rule == SamplingRule::kWindow) {
    section.Real("seconds", 1e-3, 3600, &sampling.window_seconds);
    section.Real("stride", 1e-3, 3600, &sampling.stride_seconds);
    if (section.Has("single_up_to")) {
      section.Real("single_up_to", 0, 3600, &sampling.single_up_to_seconds);
    }
  }
  return section.Finish();
}

absl::Status ReadClassify(const json& value, ModelConfig* out) {
  JsonSection section(value, "classify");
  section.Choice<ScoreKind>("score", kScores, &out->classify.score);
  FileName(section, "labels", &out->labels_source);
  if (section.Has("label_index_offset")) {
    section.Int("label_index_offset", 0, 1'000'000, &out->classify.label_index_offset);
  }
  return section.Finish();
}

absl::Status ReadEmbed(const json& value, const BackboneConfig& backbone, EmbedConfig* out) {
  JsonSection section(value, "embed");
  section.Int("dim", 1, kMaxSide, &out->dim);
  if (section.Has("normalize")) section.Bool("normalize", &out->normalize);
  if (section.Has("keep_temporal")) section.Bool("keep_temporal", &out->keep_temporal);
  if (section.Has("pool_norm")) section.Bool("pool_norm", &out->pool_norm);
  if (section.Has("prompts")) section.Strings("prompts", &out->prompts);
  const bool templates = !out->prompts.empty() && out->prompts.size() <= kMaxPrompts &&
                         std::all_of(out->prompts.begin(), out->prompts.end(), [](const auto& p) {
                           return p.find("{}") != std::string::npos;
                         });
  if (section.ok() && !templates) {
    section.Wrong("prompts",
                  absl::StrCat("1 to ", kMaxPrompts, " texts with {} where the label goes"),
                  &value["prompts"]);
  }
  SCANLINE_RETURN_IF_ERROR(section.Finish());
  if (out->keep_temporal && backbone.pool == PoolKind::kClsPlusAvgDeltaMax) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: embed.keep_temporal: backbone.pool cls+avg|delta|max has no "
                     "value of one step");
  }
  return absl::OkStatus();
}

void ReadGatedConv(JsonSection& section, TextTowerConfig* out) {
  section.Int("kernel", 1, 255, &out->kernel);
  section.Int("max_words", 1, kMaxSide, &out->max_words);
  if (section.Has("removed_characters")) {
    section.String("removed_characters", &out->removed_characters);
  }
}

absl::Status ReadBert(JsonSection& section, TextTowerConfig* out) {
  if (section.Has("fusion_depth")) section.Int("fusion_depth", 0, 1024, &out->fusion_depth);
  section.Int("heads", 1, kMaxSide, &out->heads);
  section.Int("intermediate", 1, kMaxSide, &out->intermediate);
  if (section.Has("max_positions")) section.Int("max_positions", 3, kMaxSide, &out->max_positions);
  section.Int("max_length", 3, kMaxSide, &out->max_length);
  if (section.Has("official_cleanup")) section.Bool("official_cleanup", &out->official_cleanup);
  if (section.Has("special_tokens")) section.Bool("special_tokens", &out->special_tokens);
  if (!section.ok()) return absl::OkStatus();  // Reported by Finish().
  if (out->dim % out->heads != 0) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("config.json: text_tower.heads: ", out->heads,
                                  " do not share the width ", out->dim, " evenly"));
  }
  if (out->max_length > out->max_positions) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("config.json: text_tower.max_length: ", out->max_length,
                                  " tokens, but max_positions is ", out->max_positions));
  }
  return absl::OkStatus();
}

absl::Status ReadTextTower(const json& value, TextTowerConfig* out) {
  JsonSection section(value, "text_tower");
  section.Choice<TextTowerType>(
      "type", {{"gated_conv", TextTowerType::kGatedConv}, {"bert", TextTowerType::kBert}},
      &out->type);
  FileName(section, "vocab", &out->vocab_file);
  section.Int("dim", 1, kMaxSide, &out->dim);
  section.Int("depth", 1, 1024, &out->depth);
  if (out->type == TextTowerType::kBert) {
    SCANLINE_RETURN_IF_ERROR(ReadBert(section, out));
  } else {
    ReadGatedConv(section, out);
  }
  return section.Finish();
}

absl::Status ReadRoi(const json& value, DetectConfig* out) {
  JsonSection section(value, "detect.roi");
  section.Int("size", 1, 64, &out->roi_size);
  section.Int("sampling_ratio", 0, 64, &out->sampling_ratio);
  section.Bool("aligned", &out->aligned);
  return section.Finish();
}

absl::Status ReadDetect(const json& value, const SamplingSpec& sampling, DetectConfig* out) {
  JsonSection section(value, "detect");
  section.Choice<ScoreKind>("score", kScores, &out->score);
  if (section.Has("labels") && value["labels"].is_array()) {
    section.Strings("labels", &out->labels);
    const absl::Status twice = CheckDistinct(out->labels, "detect.labels");
    if (section.ok() && !twice.ok())
      section.Wrong("labels", "labels that differ", &value["labels"]);
  } else {
    FileName(section, "labels", &out->labels_file);
  }
  if (section.Has("label_index_offset")) {
    section.Int("label_index_offset", 0, 1'000'000, &out->label_index_offset);
  }
  section.Choice<DetectConfig::Feature>(
      "feature",
      {{"avg", DetectConfig::Feature::kAvg}, {"avg|delta", DetectConfig::Feature::kAvgDelta}},
      &out->feature);
  if (const json* roi = section.Take("roi"); roi != nullptr && section.ok()) {
    SCANLINE_RETURN_IF_ERROR(ReadRoi(*roi, out));
  }
  if (section.Has("enlarge_width")) section.Real("enlarge_width", 0, 10, &out->enlarge[0]);
  if (section.Has("enlarge_height")) section.Real("enlarge_height", 0, 10, &out->enlarge[1]);
  if (section.Has("boxes")) {
    section.Choice<bool>("boxes", {{"continuous", false}, {"inclusive", true}}, &out->inclusive);
  }
  // By the rule `ava` the keyframe is in the middle of its view, between two sampled frames.
  if (sampling.rule == SamplingRule::kAva) {
    out->box_frame = sampling.frames / 2;
  } else {
    section.Int("box_frame", 0, sampling.frames - 1, &out->box_frame);
  }
  if (section.Has("keyframe_interval")) {
    section.Real("keyframe_interval", 1e-3, 3600, &out->keyframe_interval);
  }
  if (section.Has("min_score")) section.Real("min_score", 0, 1, &out->min_score);
  if (section.Has("min_person_score")) {
    section.Real("min_person_score", 0, 1, &out->min_person_score);
  }
  return section.Finish();
}

absl::Status ReadWeights(const json& value, WeightsConfig* out) {
  JsonSection section(value, "weights");
  FileName(section, "file", &out->file);
  if (section.Has("sha256")) section.String("sha256", &out->sha256);
  if (section.ok() && !out->sha256.empty() &&
      (out->sha256.size() != 64 ||
       out->sha256.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    section.Wrong("sha256", "64 lower-case hexadecimal digits", &value["sha256"]);
  }
  return section.Finish();
}

// Where the weights were made from: for people; kept out of ModelConfig.
absl::Status ReadSource(const json& value) {
  JsonSection section(value, "source");
  std::string text;
  for (const char* key : {"file", "sha256", "note"}) {
    if (section.Has(key)) section.String(key, &text);
  }
  return section.Finish();
}

// That the sections are there is for CheckTasks to say.
void ReadTasks(JsonSection& section, std::vector<std::string>* out) {
  section.Strings("tasks", out);
  if (!section.ok()) return;
  std::set<std::string> known = {"classify", "embed", "match", "detect"};
  const bool good = !out->empty() && std::all_of(out->begin(), out->end(), [&](const auto& task) {
    return known.erase(task) == 1;
  });
  const json found = *out;
  if (!good)
    section.Wrong("tasks", "one or more of classify, embed, match, detect, none twice", &found);
}

// What each task needs of the other sections.
absl::Status CheckTasks(const ModelConfig& config) {
  const auto needs = [](const char* what, const char* section) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("config.json: ", what, " needs the section ", section));
  };
  if (config.text_tower && !config.embed) return needs("text_tower", "embed");
  if (config.serves("classify") && config.labels_source.empty()) {
    return needs("the task classify", "classify");
  }
  if (config.serves("embed") && !config.embed) return needs("the task embed", "embed");
  if (config.serves("match") && !config.text_tower) return needs("the task match", "text_tower");
  if (config.serves("detect") && !config.detect) return needs("the task detect", "detect");
  const FrameSpec& spec = config.frame_spec;
  const bool has_keyframes =
      spec.sampling.rule == SamplingRule::kAva || spec.sampling.rule == SamplingRule::kWindow;
  if (config.serves("detect") && (!has_keyframes || spec.spatial_views != 1)) {
    return MakeError(Reason::kBundleInvalid,
                     "config.json: the task detect needs the sampling rule ava or window and one "
                     "spatial view");
  }
  return absl::OkStatus();
}

}  // namespace

BackboneConfig ForPictures(const BackboneConfig& config, int height, int width) {
  BackboneConfig shaped = config;
  shaped.height = height;
  shaped.width = width;
  return shaped;
}

int64_t PatchTokens(const BackboneConfig& config, int height, int width) {
  return int64_t{config.steps()} * (height / config.patch) * (width / config.patch);
}

BackboneConfig StillOf(const BackboneConfig& config) {
  BackboneConfig still = config;
  still.frames = still.tubelet;
  still.time = false;
  return still;
}

bool ModelConfig::serves(absl::string_view task) const {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

std::optional<MixerConfig> MixerPreset(absl::string_view name) {
  for (const Preset& preset : kPresets) {
    if (name == preset.name) return preset.mixer;
  }
  return std::nullopt;
}

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text) {
  SCANLINE_ASSIGN_OR_RETURN(const json root, ParseStrictJson(text, "config.json"));
  ModelConfig config;
  JsonSection section(root, "");
  int format = 0;
  section.Int("format", 1, 1, &format);
  ModelId(section, "name", &config.name);
  ModelId(section, "version", &config.version);
  section.String("license", &config.license);
  ReadTasks(section, &config.tasks);

  // One section after the other; a later one may lean on the backbone's sizes.
  const auto read = [&](const char* key, bool required, auto reader) -> absl::Status {
    if (!required && !section.Has(key)) return absl::OkStatus();
    const json* value = section.Take(key);
    return value == nullptr || !section.ok() ? absl::OkStatus() : reader(*value);
  };
  const auto backbone = [&](const json& j) { return ReadBackbone(j, &config.backbone); };
  const auto preprocess = [&](const json& j) { return ReadPreprocess(j, &config); };
  const auto sampling = [&](const json& j) {
    return ReadSampling(j, config.backbone.frames, &config.frame_spec);
  };
  const auto classify = [&](const json& j) { return ReadClassify(j, &config); };
  const auto embed = [&](const json& j) {
    return ReadEmbed(j, config.backbone, &config.embed.emplace());
  };
  const auto tower = [&](const json& j) { return ReadTextTower(j, &config.text_tower.emplace()); };
  const auto detect = [&](const json& j) {
    return ReadDetect(j, config.frame_spec.sampling, &config.detect.emplace());
  };
  const auto weights = [&](const json& j) { return ReadWeights(j, &config.weights); };
  SCANLINE_RETURN_IF_ERROR(read("backbone", true, backbone));
  SCANLINE_RETURN_IF_ERROR(read("preprocess", true, preprocess));
  SCANLINE_RETURN_IF_ERROR(read("sampling", true, sampling));
  SCANLINE_RETURN_IF_ERROR(read("classify", false, classify));
  SCANLINE_RETURN_IF_ERROR(read("embed", false, embed));
  SCANLINE_RETURN_IF_ERROR(read("text_tower", false, tower));
  SCANLINE_RETURN_IF_ERROR(read("detect", false, detect));
  SCANLINE_RETURN_IF_ERROR(read("weights", true, weights));
  SCANLINE_RETURN_IF_ERROR(read("source", false, ReadSource));
  SCANLINE_RETURN_IF_ERROR(section.Finish());
  SCANLINE_RETURN_IF_ERROR(CheckTasks(config));
  return config;
}

}  // namespace scanline
