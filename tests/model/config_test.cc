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
using ::testing::HasSubstr;

json Full() {  // Every key that config.json may have.
  return json::parse(R"({
    "format": 1, "name": "n", "version": "1", "license": "x", "tasks": ["classify"],
    "backbone": {"arch": "videomamba", "embed_dim": 576, "depth": 32, "d_state": 16, "d_conv": 4,
                 "expand": 2, "dt_rank": 36, "norm": "layer", "norm_eps": 1e-6, "patch": 16,
                 "tubelet": 2, "frames": 16, "size": 224, "scan_order": "alternating",
                 "mixer": {"shared": true, "scan_input": "raw", "init": "first_token",
                           "mask_backward": true, "residual": "cumulative", "gate": false},
                 "pool": "cls+avg"},
    "preprocess": {"resize": "short_side_bilinear", "size": 224, "crop": "center", "range": "unit",
                   "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
    "sampling": {"rule": "window", "frames": 16, "temporal_views": 4, "spatial_views": 3,
                 "frame_step": 2, "seconds": 1.5, "stride": 0.5, "single_up_to": 2.0},
    "classify": {"score": "sigmoid", "labels": "labels.txt", "label_index_offset": 1},
    "embed": {"dim": 64, "normalize": false},
    "text_tower": {"type": "gated_conv", "dim": 64, "depth": 2, "kernel": 5, "max_words": 24,
                   "vocab": "vocab.txt", "removed_characters": "-'"},
    "detect": {"score": "sigmoid", "labels": ["l", "r"], "feature": "avg|delta",
               "roi": {"size": 7, "sampling_ratio": 0, "aligned": true},
               "enlarge_width": 0.1, "enlarge_height": 0.05, "box_frame": 8},
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
  EXPECT_FALSE(parsed->embed->normalize);
  EXPECT_EQ(parsed->text_tower->removed_characters, "-'");
  EXPECT_EQ(parsed->detect->feature, DetectConfig::Feature::kAvgDelta);
  EXPECT_EQ(parsed->weights.sha256, std::string(64, 'a'));
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
      {"/tasks", json::array({"embed"})},
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
  };
  for (const auto& [pointer, value] : wrong) {
    json config = Full();
    config[json::json_pointer(pointer)] = value;
    std::string path = std::string(pointer).substr(1);
    std::replace(path.begin(), path.end(), '/', '.');
    EXPECT_THAT(ErrorOf(config), HasSubstr(path)) << pointer << " " << value;
  }
}

TEST(Config, RefusesATextTowerWithoutItsSpace) {
  json config = Full();
  config.erase("embed");
  EXPECT_THAT(ErrorOf(config), HasSubstr("text_tower needs embed"));
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
