// Models of video and text through the importer: files of the real PyTorch in all their forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_join.h"
#include "base/error.h"
#include "model/checkpoint/import.h"
#include "model/config.h"
#include "tests/model/bundle_folder.h"
#include "tests/model/checkpoint/fixtures.h"
#include "tests/model/generator.h"
#include "tests/support/safetensors.h"

namespace scanline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr char kVocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n##s\n";

// To the nearest bf16, ties to even, as torch.Tensor.to does.
float RoundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

class ImportMultimodal : public ::testing::Test {
 protected:
  ImportMultimodal() { folder_.Write("vocab.txt", kVocab); }

  ImportOptions Options(const std::string& fixture) const {
    ImportOptions options;
    options.file = FixturePath(fixture);
    options.vocab = folder_.path() + "/vocab.txt";
    options.labels_folder = SCANLINE_SOURCE_DIR "/assets/labels";
    options.name = "m";
    options.output = folder_.path() + "/models";
    options.plan.architecture.multimodal.heads = 2;
    return options;
  }

  std::string Done(const ImportOptions& options) {
    const auto report = ImportCheckpoint(options);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return "";
    said_ = absl::StrJoin(report->lines, "\n");
    unchanged_ = report->unchanged;
    return report->folder;
  }

  static std::string Refusal(const ImportOptions& options, Reason reason) {
    const auto report = ImportCheckpoint(options);
    if (report.ok()) return "accepted";
    EXPECT_EQ(ReasonOf(report.status()), reason) << report.status();
    EXPECT_FALSE(fs::exists(options.output + "/m"));
    return std::string(report.status().message());
  }

  static std::string Text(const std::string& path) {
    const auto bytes = ReadBytes(path);
    return {bytes.begin(), bytes.end()};
  }

  static ModelConfig Config(const std::string& bundle) {
    const auto config = ParseModelConfig(Text(bundle + "/config.json"));
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : ModelConfig();
  }

  TempFolder folder_;
  std::string said_;
  bool unchanged_ = false;
};

TEST_F(ImportMultimodal, WritesABundleOfVideoAndText) {
  const std::string bundle = Done(Options("multimodal.pth"));
  const ModelConfig config = Config(bundle);
  EXPECT_THAT(config.tasks, ElementsAre("embed", "match"));
  EXPECT_EQ(config.labels_source, "");
  EXPECT_EQ(config.backbone.embed_dim, 8);
  EXPECT_EQ(config.backbone.depth, 2);
  EXPECT_EQ(config.backbone.pool, PoolKind::kClsPlusAvg);
  EXPECT_TRUE(config.backbone.still_as_image);
  EXPECT_EQ(config.frame_spec.resize, ResizeRule::kSquareBicubic);
  EXPECT_EQ(config.frame_spec.spatial_views, 1);
  EXPECT_EQ(config.frame_spec.sampling.rule, SamplingRule::kMiddle);
  EXPECT_EQ(config.frame_spec.sampling.temporal_views, 1);
  EXPECT_EQ(config.mean, (std::array<float, 3>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(config.embed->dim, 4);
  EXPECT_TRUE(config.embed->normalize);
  EXPECT_TRUE(config.embed->keep_temporal);
  EXPECT_TRUE(config.embed->pool_norm);
  EXPECT_THAT(config.embed->prompts, ElementsAre("{}"));
  const TextTowerConfig& text = *config.text_tower;
  EXPECT_EQ(text.type, TextTowerType::kBert);
  EXPECT_EQ(text.dim, 8);
  EXPECT_EQ(text.depth, 1);
  EXPECT_EQ(text.fusion_depth, 1);
  EXPECT_EQ(text.heads, 2);
  EXPECT_EQ(text.intermediate, 12);
  EXPECT_EQ(text.max_positions, 40);
  EXPECT_EQ(text.max_length, 32);
  EXPECT_TRUE(text.official_cleanup);
  EXPECT_FALSE(text.special_tokens);
  EXPECT_EQ(Text(bundle + "/vocab.txt"), kVocab);
  EXPECT_FALSE(fs::exists(bundle + "/labels.txt"));
  EXPECT_THAT(Text(bundle + "/README.md"), HasSubstr("BERT, 1 layers of width 8"));
  EXPECT_THAT(said_, AllOf(HasSubstr("beside the state: optimizer, scheduler, config, epoch"),
                           HasSubstr("of pre-training: clip_decoder.* (2), "
                                     "text_encoder.bert.embeddings.position_ids, "
                                     "text_encoder.cls.* (3), clip_teacher.* (2)"),
                           HasSubstr("BERT, 1 layers of width 8, then 1 fusion layers"),
                           HasSubstr("assumed   2 attention heads (--heads), texts of 32 tokens"),
                           HasSubstr("none missing; 7 words"), Not(HasSubstr("classes"))));
}

TEST_F(ImportMultimodal, EveryFormOfTheFileGivesTheSameTensors) {
  for (const char* fixture : {"multimodal.pth", "multimodal_no_mlm.pth", "multimodal_bf16.pth"}) {
    ImportOptions options = Options(fixture);
    options.name = fs::path(fixture).stem();
    const SafetensorsFile file = ReadSafetensors(Done(options) + "/model.safetensors");
    EXPECT_EQ(file.tensors.size(), 6u + 2 * 17 + 2 + 2 + 5 + 2 * 16 + 10 + 2 + 2 + 1) << fixture;
    for (const auto& [name, tensor] : file.tensors) {
      ASSERT_EQ(tensor.dtype, "F32");
      std::vector<float> want = Generate(name, tensor.shape, kFixtureSeed);
      if (options.name == "multimodal_bf16") {
        for (float& value : want) value = RoundToBf16(value);
      }
      EXPECT_EQ(tensor.values<float>(), want) << name;
    }
  }
}

TEST_F(ImportMultimodal, TheSameAgainChangesNothing) {
  Done(Options("multimodal.pth"));
  EXPECT_FALSE(unchanged_);
  Done(Options("multimodal.pth"));
  EXPECT_TRUE(unchanged_);
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\n##s\n");
  const auto other = ImportCheckpoint(Options("multimodal.pth"));
  EXPECT_EQ(ReasonOf(other.status()), Reason::kFieldInvalid);
  EXPECT_THAT(other.status().message(), HasSubstr("vocab.txt differs"));
  ImportOptions force = Options("multimodal.pth");
  force.force = true;
  EXPECT_THAT(Text(Done(force) + "/vocab.txt"), HasSubstr("dog"));
}

TEST_F(ImportMultimodal, TheUserSaysWhatTheFileDoesNot) {
  ImportOptions options = Options("multimodal.pth");
  options.plan.architecture.multimodal = {
      .pool = "avg", .keep_temporal = false, .heads = 4, .max_text_length = 40};
  options.use = {.rule = "uniform", .temporal_views = 2};
  const ModelConfig config = Config(Done(options));
  EXPECT_EQ(config.backbone.pool, PoolKind::kAvg);
  EXPECT_FALSE(config.embed->keep_temporal);
  EXPECT_EQ(config.text_tower->heads, 4);
  EXPECT_EQ(config.text_tower->max_length, 40);
  EXPECT_EQ(config.frame_spec.sampling.rule, SamplingRule::kUniform);
  EXPECT_EQ(config.frame_spec.sampling.temporal_views, 2);
  options.name = "cls";
  options.plan.architecture.multimodal = {.pool = "cls", .heads = 2};
  EXPECT_FALSE(Config(Done(options)).embed->keep_temporal);  // cls is of no frame.
}

TEST_F(ImportMultimodal, RefusesWordsAndOptionsThatDoNotFit) {
  const auto refusal = [&](auto change) {
    ImportOptions options = Options("multimodal.pth");
    change(options);
    return Refusal(options, Reason::kFieldInvalid);
  };
  using O = ImportOptions&;
  const auto multimodal = [](O o) -> MultimodalOptions& { return o.plan.architecture.multimodal; };
  EXPECT_THAT(refusal([](O o) { o.vocab.clear(); }), HasSubstr("--vocab FILE says"));
  EXPECT_THAT(refusal([](O o) { o.labels = "kinetics400"; }), HasSubstr("which has no classes"));
  EXPECT_THAT(refusal([&](O o) { multimodal(o).heads = 0; }), HasSubstr("--heads says how many"));
  EXPECT_THAT(refusal([&](O o) { multimodal(o).heads = 3; }), HasSubstr("--heads 3 do not share"));
  EXPECT_THAT(refusal([&](O o) { multimodal(o).pool = "max"; }), HasSubstr("--pool max"));
  EXPECT_THAT(refusal([&](O o) { multimodal(o).max_text_length = 41; }), HasSubstr("end at 40"));
  EXPECT_THAT(refusal([](O o) { o.use.spatial_views = 3; }), HasSubstr("--spatial-views 3"));
  EXPECT_THAT(refusal([](O o) { o.vocab = "/nowhere"; }), HasSubstr("--vocab /nowhere"));
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\n");
  EXPECT_THAT(refusal([](O) {}), HasSubstr("has 7 words, the vocabulary 5"));
  folder_.Write("vocab.txt", "cat\n[PAD]\n");
  EXPECT_THAT(refusal([](O) {}), HasSubstr("vocab.txt:1: expected [PAD]"));
  folder_.Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n");
  EXPECT_THAT(refusal([](O) {}), HasSubstr("has no line [SEP]"));
}

TEST_F(ImportMultimodal, ItsOptionsAreNotForClassifiers) {
  const auto refusal = [&](auto change) {
    ImportOptions options = Options("ordered_dict.pth");
    folder_.Write("labels.txt", "run\njump\nswim\n");
    options.labels = folder_.path() + "/labels.txt";
    options.vocab.clear();
    options.plan.architecture.multimodal = {};
    change(options);
    return Refusal(options, Reason::kFieldInvalid);
  };
  using O = ImportOptions&;
  EXPECT_THAT(refusal([&](O o) { o.vocab = folder_.path() + "/vocab.txt"; }),
              HasSubstr("no text tower: --vocab"));
  EXPECT_THAT(refusal([](O o) { o.labels.clear(); }), HasSubstr("3 classes: --labels names them"));
  EXPECT_THAT(refusal([](O o) { o.plan.architecture.multimodal.pool = "avg"; }),
              HasSubstr("--pool is for multimodal"));
  EXPECT_THAT(refusal([](O o) { o.plan.architecture.multimodal.keep_temporal = false; }),
              HasSubstr("--no-keep-temporal is for multimodal"));
  EXPECT_THAT(refusal([](O o) { o.plan.architecture.multimodal.heads = 12; }),
              HasSubstr("--heads is for multimodal"));
  EXPECT_THAT(refusal([](O o) { o.plan.architecture.multimodal.max_text_length = 32; }),
              HasSubstr("--max-text-length is for multimodal"));
}

// The model of a file, some tensors changed, as a file.
class ChangedMultimodal : public ImportMultimodal {
 protected:
  ChangedMultimodal() {
    const OpenFixture fixture("multimodal.pth");
    for (size_t i = 0; i < fixture.checkpoint->tensors().size(); ++i) {
      const CheckpointTensor& tensor = fixture.checkpoint->tensors()[i];
      if (tensor.dtype != "F32") continue;
      std::vector<float> values(static_cast<size_t>(tensor.size()));
      EXPECT_TRUE(fixture.checkpoint->ReadFloats(i, values.data()).ok());
      tensors_.push_back({tensor.name, tensor.shape, values});
    }
  }

  void Remove(const std::string& part) {
    const auto end = std::remove_if(tensors_.begin(), tensors_.end(), [&](const auto& tensor) {
      return tensor.name.find(part) != std::string::npos;
    });
    ASSERT_NE(end, tensors_.end());
    tensors_.erase(end, tensors_.end());
  }

  ImportOptions Options() {
    folder_.Write("changed.safetensors", SafetensorsBytes(tensors_));
    ImportOptions options = ImportMultimodal::Options("");
    options.file = folder_.path() + "/changed.safetensors";
    return options;
  }

  std::vector<TensorToWrite> tensors_;
};

TEST_F(ChangedMultimodal, WithoutCrossAttentionHasNoFusionLayers) {
  Remove("crossattention");
  Remove("itm_head");
  const ModelConfig config = Config(Done(Options()));
  EXPECT_EQ(config.text_tower->depth, 2);
  EXPECT_EQ(config.text_tower->fusion_depth, 0);
}

TEST_F(ChangedMultimodal, WithoutPoolNormSaysSo) {
  Remove("pool_norm");
  EXPECT_FALSE(Config(Done(Options())).embed->pool_norm);
}

TEST_F(ChangedMultimodal, NamesWhatIsMissing) {
  Remove("crossattention.output.dense.bias");
  Remove("text_proj.bias");
  EXPECT_THAT(Refusal(Options(), Reason::kBundleInvalid),
              HasSubstr("missing: text_encoder.encoder.layer.1.crossattention.output.dense."
                        "bias, text_proj.bias"));
  Remove("vision_proj");
  EXPECT_THAT(Refusal(Options(), Reason::kBundleInvalid), HasSubstr("no vision_proj.weight"));
}

TEST_F(ChangedMultimodal, RefusesATowerThatReadsNoTextAlone) {
  for (TensorToWrite& tensor : tensors_) {
    const size_t at = tensor.name.find("layer.1.crossattention");
    if (at != std::string::npos) tensor.name.replace(at, 8, "layer.0.");
  }
  EXPECT_THAT(Refusal(Options(), Reason::kBundleInvalid),
              HasSubstr("cross-attention in the first"));
}

}  // namespace
}  // namespace scanline::testing
