#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "tests/model/bundle_folder.h"

namespace scanline::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json Full() {  // Every key that config.json may have.
  return json::parse(R"({
    "format": 1, "name": "n", "version": "1", "license": "x",
    "tasks": ["classify", "embed", "match"],
    "backbone": {"arch": "videomamba", "embed_dim": 576, "depth": 32, "d_state": 16, "d_conv": 4,
                 "expand": 2, "dt_rank": 36, "norm": "layer", "norm_eps": 1e-6, "patch": 16,
                 "tubelet": 2, "frames": 16, "size": 224, "scan_order": "alternating",
                 "mixer": {"shared": true, "scan_input": "raw", "init": "first_token",
                           "mask_backward": true, "residual": "cumulative", "gate": false},
                 "pool": "cls+avg", "still_as_image": false},
    "preprocess": {"resize": "short_side_bilinear", "size": 224, "crop": "center", "range": "unit",
                   "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
    "sampling": {"rule": "window", "frames": 16, "temporal_views": 4, "spatial_views": 3,
                 "frame_step": 2, "seconds": 1.5, "stride": 0.5, "single_up_to": 2.0},
    "classify": {"score": "sigmoid", "labels": "labels.txt", "label_index_offset": 1},
    "embed": {"dim": 64, "normalize": false, "keep_temporal": true, "pool_norm": true,
              "prompts": ["{}", "a clip of {}"]},
    "text_tower": {"type": "gated_conv", "dim": 64, "depth": 2, "kernel": 5, "max_words": 24,
                   "vocab": "vocab.txt", "removed_characters": "-'"},
    "detect": {"score": "sigmoid", "labels": ["l", "r"], "feature": "avg|delta",
               "roi": {"size": 7, "sampling_ratio": 0, "aligned": true},
               "enlarge_width": 0.1, "enlarge_height": 0.05, "box_frame": 8,
               "label_index_offset": 1, "boxes": "inclusive", "keyframe_interval": 0.5,
               "min_score": 0.25, "min_person_score": 0.75},
    "weights": {"file": "model.safetensors", "sha256": ")" +
                     std::string(64, 'a') + R"("},
    "source": {"file": "a.pth", "sha256": "b", "note": "c"}
  })");
}

std::string ErrorOf(const json& config) {
  const auto parsed = ParseModelConfig(config.dump());
  if (parsed.ok()) return "no error";
  EXPECT_EQ(ReasonOf(parsed.status()), Reason::kBundleInvalid);
  return std::string(parsed.status().message());
}

TEST(Config, ReadsEveryKey) {
  const auto parsed = ParseModelConfig(Full().dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const BackboneConfig& backbone = parsed->backbone;
  EXPECT_EQ(backbone.embed_dim, 576);
  EXPECT_EQ(backbone.depth, 32);
  EXPECT_EQ(backbone.dt_rank, 36);
  EXPECT_EQ(backbone.norm, NormKind::kLayer);
  EXPECT_EQ(backbone.norm_eps, 1e-6f);
  EXPECT_EQ(backbone.steps(), 8);
  EXPECT_EQ(backbone.tokens(), 1 + 8 * 14 * 14);
  EXPECT_EQ(backbone.scan_order, ScanOrder::kAlternating);
  EXPECT_EQ(backbone.pool, PoolKind::kClsPlusAvg);
  EXPECT_TRUE(backbone.mixer.shared);
  EXPECT_EQ(backbone.mixer.scan_input, MixerConfig::ScanInput::kRaw);
  EXPECT_EQ(backbone.mixer.init, MixerConfig::Init::kFirstToken);
  EXPECT_TRUE(backbone.mixer.mask_backward);
  EXPECT_EQ(backbone.mixer.residual, MixerConfig::Residual::kCumulative);
  EXPECT_FALSE(backbone.mixer.gate);
  EXPECT_EQ(parsed->frame_spec.resize, ResizeRule::kShortSideBilinear);
  EXPECT_EQ(parsed->frame_spec.size, 224);
  EXPECT_EQ(parsed->frame_spec.spatial_views, 3);
  EXPECT_EQ(parsed->frame_spec.sampling.rule, SamplingRule::kWindow);
  EXPECT_EQ(parsed->frame_spec.sampling.temporal_views, 4);
  EXPECT_EQ(parsed->frame_spec.sampling.window_seconds, 1.5);
  EXPECT_EQ(parsed->mean[2], 0.406f);
  EXPECT_EQ(parsed->std[0], 0.229f);
  EXPECT_EQ(parsed->classify.score, ScoreKind::kSigmoid);
  EXPECT_EQ(parsed->classify.label_index_offset, 1);
  EXPECT_THAT(parsed->tasks, ElementsAre("classify", "embed", "match"));
  EXPECT_TRUE(parsed->serves("match"));
  EXPECT_FALSE(parsed->embed->normalize);
  EXPECT_TRUE(parsed->embed->keep_temporal);
  EXPECT_TRUE(parsed->embed->pool_norm);
  EXPECT_THAT(parsed->embed->prompts, ElementsAre("{}", "a clip of {}"));
  EXPECT_EQ(parsed->text_tower->type, TextTowerType::kGatedConv);
  EXPECT_EQ(parsed->text_tower->removed_characters, "-'");
  EXPECT_EQ(parsed->detect->feature, DetectConfig::Feature::kAvgDelta);
  EXPECT_EQ(parsed->detect->label_index_offset, 1);
  EXPECT_TRUE(parsed->detect->inclusive);
  EXPECT_EQ(parsed->detect->keyframe_interval, 0.5);
  EXPECT_EQ(parsed->detect->min_score, 0.25);
  EXPECT_EQ(parsed->detect->min_person_score, 0.75);
  EXPECT_EQ(parsed->weights.sha256, std::string(64, 'a'));
}

// AVA's: the pictures are no squares, and boxes belong to the middle of the view.
TEST(Config, ReadsAModelOfPaddedPictures) {
  json config = Full();
  config["tasks"] = {"detect"};
  config["preprocess"] = json::parse(R"({"resize": "short_side_256_pad16", "size": 256,
      "pad_multiple": 32, "mean": [122.4, 51, 0], "std": [51, 51, 255], "range": "byte"})");
  config["sampling"] = {{"rule", "ava"}, {"frame_step", 4}, {"frame_rate", 25}};
  config["detect"].erase("box_frame");
  const auto parsed = ParseModelConfig(config.dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_FALSE(parsed->fixed_size());
  EXPECT_EQ(parsed->frame_spec.size, 256);
  EXPECT_EQ(parsed->frame_spec.pad_multiple, 32);
  EXPECT_FLOAT_EQ(parsed->mean[0], 0.48F);
  EXPECT_FLOAT_EQ(parsed->std[1], 0.2F);
  EXPECT_EQ(parsed->frame_spec.sampling.frame_rate, 25);
  EXPECT_EQ(parsed->detect->box_frame, 8);
  config["preprocess"]["pad_multiple"] = 24;  // not of whole patches
  EXPECT_THAT(ErrorOf(config), HasSubstr("pad_multiple"));
}

TEST(Config, ATaskOfBoxesNeedsKeyframes) {
  json config = Full();
  config["tasks"] = {"detect"};
  EXPECT_THAT(ErrorOf(config), HasSubstr("one spatial view"));
  config["sampling"]["spatial_views"] = 1;
  EXPECT_TRUE(ParseModelConfig(config.dump()).ok());
  config.erase("detect");
  EXPECT_THAT(ErrorOf(config), HasSubstr("the task detect needs the section detect"));
}

TEST(Config, LeavesOfficialValuesWhereTheyAreNotStated) {
  json config = Full();
  for (const char* key :
       {"d_state", "d_conv", "expand", "dt_rank", "norm", "norm_eps", "scan_order", "pool"}) {
    config["backbone"].erase(key);
  }
  config["backbone"]["embed_dim"] = 570;
  const auto parsed = ParseModelConfig(config.dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->backbone.d_state, 16);
  EXPECT_EQ(parsed->backbone.dt_rank, 36);  // ceil(570 / 16)
  EXPECT_EQ(parsed->backbone.norm, NormKind::kRms);
  EXPECT_EQ(parsed->backbone.norm_eps, 1e-5f);
  EXPECT_EQ(parsed->backbone.pool, PoolKind::kCls);
}

TEST(Config, NamesAnUnknownKeyWithItsPath) {
  for (const char* section :
       {"", "/backbone", "/backbone/mixer", "/preprocess", "/sampling", "/classify", "/embed",
        "/text_tower", "/detect", "/detect/roi", "/weights", "/source"}) {
    json config = Full();
    config[json::json_pointer(std::string(section))]["surprise"] = 1;
    std::string path = std::string(section) + "/surprise";
    path.erase(0, 1);
    std::replace(path.begin(), path.end(), '/', '.');
    EXPECT_THAT(ErrorOf(config), HasSubstr("unknown key " + path + ";"));
  }
}

TEST(Config, NamesAMissingKey) {
  for (const char* key :
       {"/format", "/name", "/tasks", "/backbone", "/backbone/embed_dim", "/backbone/mixer",
        "/backbone/mixer/gate", "/preprocess/mean", "/sampling/rule", "/sampling/seconds",
        "/classify/labels", "/text_tower/vocab", "/detect/roi", "/weights/file"}) {
    const json::json_pointer at{std::string(key)};
    json config = Full();
    config[at.parent_pointer()].erase(at.back());
    std::string path = std::string(key).substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    EXPECT_THAT(ErrorOf(config), HasSubstr(path + ": expected a value, found nothing"));
  }
}

// Every string of it may reach an answer, whose text is UTF-8.
TEST(Config, IsUtf8InEveryString) {
  for (const char* key : {"\"license\": \"x", "\"name\": \"n", "\"version\": \"1"}) {
    for (const char* bytes : {"\xe9", "\xc0\xaf", "\xed\xa0\x80", "\\ud800"}) {
      std::string text = Full().dump(-1);
      const std::string compact = std::string(key).replace(std::string(key).find(": "), 2, ":");
      const size_t at = text.find(compact);
      ASSERT_NE(at, std::string::npos) << compact;
      text.insert(at + compact.size(), bytes);
      EXPECT_EQ(ReasonOf(ParseModelConfig(text).status()), Reason::kBundleInvalid) << text;
    }
  }
}

TEST(Config, RefusesAWrongTypeOrValue) {
  const std::pair<const char*, json> wrong[] = {
      {"/format", 2},
      {"/name", 3},
      {"/name", ""},
      {"/name", "a@b/c d"},
      {"/name", "Upper"},
      {"/name", ".a"},
      {"/name", std::string("a\0b", 3)},
      {"/name", std::string(65, 'a')},
      {"/version", ""},
      {"/version", "1@2"},
      {"/classify/label_index_offset", -1},
      {"/detect/labels", json::array({"left", "left"})},
      {"/tasks", json::array({"classify", 3})},
      {"/tasks", json::array({"segment"})},
      {"/tasks", json::array({"embed", "embed"})},
      {"/tasks", json::array()},
      {"/backbone", "videomamba"},
      {"/backbone/arch", "vit"},
      {"/backbone/embed_dim", 0},
      {"/backbone/embed_dim", 192.5},
      {"/backbone/embed_dim", "192"},
      {"/backbone/embed_dim", 18446744073709551615u},
      {"/backbone/depth", -1},
      {"/backbone/norm_eps", json::array()},
      {"/backbone/scan_order", "sideways"},
      {"/backbone/mixer", "videomambapro_v3"},
      {"/backbone/mixer", 1},
      {"/backbone/mixer/gate", 1},
      {"/backbone/mixer/init", "last_token"},
      {"/backbone/pool", "max"},
      {"/backbone/frames", 15},
      {"/backbone/size", 220},
      {"/preprocess/resize", "stretch"},
      {"/preprocess/size", 256},
      {"/preprocess/mean", json::array({0.5, 0.5})},
      {"/preprocess/std", json::array({0.5, 0.5, 0})},
      {"/sampling/frames", 8},
      {"/sampling/rule", "random"},
      {"/sampling/stride", 0},
      {"/classify/score", "argmax"},
      {"/classify/labels", "../labels.txt"},
      {"/classify/labels", "/etc/passwd"},
      {"/classify/labels", ".."},
      {"/classify/labels", ""},
      {"/weights/file", "a/b"},
      {"/weights/sha256", "abc"},
      {"/detect/labels", json::array({1})},
      {"/detect/box_frame", 16},
      {"/text_tower/type", "lstm"},
      {"/embed/prompts", json::array()},
      {"/embed/prompts", json::array({"a clip"})},
      {"/embed/prompts", "{}"},
      {"/embed/keep_temporal", 1},
      {"/backbone/still_as_image", true},  // A token spans two frames.
  };
  for (const auto& [pointer, value] : wrong) {
    json config = Full();
    config[json::json_pointer(pointer)] = value;
    std::string path = std::string(pointer).substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    EXPECT_THAT(ErrorOf(config), HasSubstr(path)) << pointer << " " << value;
  }
}

json Multimodal() {  // As `scanline import` writes the released models, but small.
  json config = Full();
  config["tasks"] = {"embed", "match"};
  config["backbone"]["tubelet"] = 1;
  config["backbone"]["still_as_image"] = true;
  for (const char* section : {"classify", "detect"}) config.erase(section);
  config["text_tower"] = json::parse(R"({
    "type": "bert", "vocab": "vocab.txt", "dim": 768, "depth": 9, "fusion_depth": 3, "heads": 12,
    "intermediate": 3072, "max_positions": 512, "max_length": 32, "official_cleanup": false,
    "special_tokens": true})");
  return config;
}

TEST(Config, ReadsAModelOfVideoAndTextAlone) {
  const auto parsed = ParseModelConfig(Multimodal().dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_FALSE(parsed->serves("classify"));
  EXPECT_EQ(parsed->labels_source, "");
  EXPECT_TRUE(parsed->backbone.still_as_image);
  const TextTowerConfig& tower = *parsed->text_tower;
  EXPECT_EQ(tower.type, TextTowerType::kBert);
  EXPECT_EQ(tower.dim, 768);
  EXPECT_EQ(tower.depth, 9);
  EXPECT_EQ(tower.fusion_depth, 3);
  EXPECT_EQ(tower.heads, 12);
  EXPECT_EQ(tower.intermediate, 3072);
  EXPECT_EQ(tower.max_positions, 512);
  EXPECT_EQ(tower.max_length, 32);
  EXPECT_FALSE(tower.official_cleanup);
  EXPECT_TRUE(tower.special_tokens);
}

TEST(Config, LeavesTheDefaultsOfATextTower) {
  json config = Multimodal();
  for (const char* key : {"fusion_depth", "max_positions", "official_cleanup", "special_tokens"}) {
    config["text_tower"].erase(key);
  }
  config["embed"] = {{"dim", 512}};
  const auto parsed = ParseModelConfig(config.dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->text_tower->fusion_depth, 0);
  EXPECT_EQ(parsed->text_tower->max_positions, 512);
  EXPECT_TRUE(parsed->text_tower->official_cleanup);
  EXPECT_FALSE(parsed->text_tower->special_tokens);
  EXPECT_TRUE(parsed->embed->normalize);
  EXPECT_FALSE(parsed->embed->keep_temporal);
  EXPECT_FALSE(parsed->embed->pool_norm);
  EXPECT_THAT(parsed->embed->prompts, ElementsAre("{}"));
}

TEST(Config, RefusesATextTowerThatNobodyCanBuild) {
  const std::pair<const char*, json> wrong[] = {
      {"heads", 5},        {"heads", 0},           {"max_length", 2},
      {"max_length", 513}, {"intermediate", 0},    {"kernel", 5},
      {"depth", 0},        {"fusion_depth", -1},   {"special_tokens", "no"},
      {"vocab", "../v"},   {"official_cleanup", 1}};
  for (const auto& [key, value] : wrong) {
    json config = Multimodal();
    config["text_tower"][key] = value;
    EXPECT_THAT(ErrorOf(config), HasSubstr(std::string("text_tower.") + key)) << value;
  }
}

TEST(Config, RefusesATaskWithoutItsSection) {
  json config = Multimodal();
  config["tasks"] = {"classify"};
  EXPECT_THAT(ErrorOf(config), HasSubstr("the task classify needs the section classify"));
  config["tasks"] = {"match"};
  config.erase("text_tower");
  EXPECT_THAT(ErrorOf(config), HasSubstr("the task match needs the section text_tower"));
  config["tasks"] = {"embed"};
  config.erase("embed");
  EXPECT_THAT(ErrorOf(config), HasSubstr("the task embed needs the section embed"));
  config = Full();
  config["tasks"] = {"classify"};
  config.erase("embed");
  EXPECT_THAT(ErrorOf(config), HasSubstr("text_tower needs the section embed"));
}

TEST(Config, RefusesStepsOfAPoolThatComparesThem) {
  json config = Multimodal();
  config["backbone"]["pool"] = "cls+avg|delta|max";
  EXPECT_THAT(ErrorOf(config), HasSubstr("backbone.still_as_image"));
  config["backbone"]["still_as_image"] = false;
  EXPECT_THAT(ErrorOf(config), HasSubstr("embed.keep_temporal"));
}

TEST(Config, RefusesWhatIsNotJsonAndRepeatedKeys) {
  for (const char* text : {"", "{", "[]", "3", "{\"a\": NaN}", "{\"format\": 1, \"format\": 1}"}) {
    const auto parsed = ParseModelConfig(text);
    EXPECT_EQ(ReasonOf(parsed.status()), Reason::kBundleInvalid) << text;
  }
  EXPECT_THAT(ParseModelConfig("{\"a\": {\"b\": 1, \"b\": 2}}").status().message(),
              HasSubstr("\"b\" twice"));
}

TEST(Config, RefusesNestingWithoutEnd) {  // Which overflowed the stack where it was shown.
  const std::string deep =
      "{\"format\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_THAT(ParseModelConfig(deep).status().message(), HasSubstr("more than 32 deep"));
}

TEST(Config, PresetsAreThoseOfTheContract) {
  using Input = MixerConfig::ScanInput;
  using Init = MixerConfig::Init;
  using Residual = MixerConfig::Residual;
  const struct {
    const char* name;
    MixerConfig want;
  } presets[] = {
      {"videomamba", {false, Input::kConv, Init::kZero, false, Residual::kNone, true}},
      {"videomambapro_v1", {true, Input::kRaw, Init::kFirstToken, true, Residual::kNone, true}},
      {"videomambapro_v2", {false, Input::kRaw, Init::kFirstToken, false, Residual::kNone, true}},
      {"videomambapro_intended",
       {false, Input::kConv, Init::kFirstToken, true, Residual::kNone, true}},
      {"videomambapro_paper",
       {false, Input::kConv, Init::kZero, true, Residual::kCumulative, true}},
  };
  for (const auto& [name, want] : presets) {
    json config = Full();
    config["backbone"]["mixer"] = name;
    const auto parsed = ParseModelConfig(config.dump());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const MixerConfig& got = parsed->backbone.mixer;
    EXPECT_EQ(
        std::tie(got.shared, got.scan_input, got.init, got.mask_backward, got.residual, got.gate),
        std::tie(want.shared, want.scan_input, want.init, want.mask_backward, want.residual,
                 want.gate))
        << name;
  }
  EXPECT_FALSE(MixerPreset("videomambapro").has_value());
}

}  // namespace
}  // namespace scanline::testing
