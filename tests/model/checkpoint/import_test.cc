#include "model/checkpoint/import.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_join.h"
#include "base/error.h"
#include "model/checkpoint/names.h"
#include "model/config.h"
#include "nlohmann/json.hpp"
#include "tests/model/bundle_folder.h"
#include "tests/model/checkpoint/fixtures.h"
#include "tests/support/pth_writer.h"
#include "tests/support/safetensors.h"

namespace scanline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class Import : public ::testing::Test {
 protected:
  Import() { folder_.Write("labels.txt", "run\njump\nswim\n"); }

  ImportOptions Options(const std::string& fixture) const {
    ImportOptions options;
    options.file = FixturePath(fixture);
    options.labels = folder_.path() + "/labels.txt";
    options.labels_folder = SCANLINE_SOURCE_DIR "/assets/labels";
    options.name = "m";
    options.output = folder_.path() + "/models";
    return options;
  }

  // The folder of the bundle.
  static std::string Done(const ImportOptions& options) {
    const auto report = ImportCheckpoint(options);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return "";
    said_ = absl::StrJoin(report->lines, "\n");
    return report->folder;
  }

  // The message of a refusal, which must leave nothing behind.
  std::string Refusal(const ImportOptions& options, Reason reason) {
    const bool was_there = fs::exists(options.output);
    const auto report = ImportCheckpoint(options);
    if (report.ok()) return "accepted";
    EXPECT_EQ(ReasonOf(report.status()), reason) << report.status();
    if (!was_there && fs::exists(options.output)) {
      EXPECT_TRUE(fs::is_empty(options.output));
    }
    return std::string(report.status().message());
  }

  static ModelConfig Config(const std::string& bundle) {
    const auto bytes = ReadBytes(bundle + "/config.json");
    const auto config =
        ParseModelConfig({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? *config : ModelConfig();
  }

  TempFolder folder_;
  static inline std::string said_;
};

TEST_F(Import, ADetectionCheckpointHasItsHeadForBoxes) {
  ImportOptions options = Options("training.pth");
  const auto plain = ReadSafetensors(Done(options) + "/model.safetensors");
  options.name = "boxes";
  options.plan.architecture.detect = true;
  const std::string bundle = Done(options);
  const auto written = ReadSafetensors(bundle + "/model.safetensors");
  EXPECT_FALSE(written.has("head.weight"));
  EXPECT_EQ(written.at("box_head.weight").bytes, plain.at("head.weight").bytes);
  EXPECT_EQ(written.at("box_head.bias").bytes, plain.at("head.bias").bytes);
  const ModelConfig config = Config(bundle);
  EXPECT_THAT(config.tasks, ElementsAre("detect"));
  ASSERT_TRUE(config.detect.has_value());
  EXPECT_TRUE(config.detect->inclusive);
  EXPECT_FALSE(config.detect->aligned);
  EXPECT_EQ(config.detect->enlarge, (std::array<double, 2>{0.1, 0.05}));
  EXPECT_EQ(config.detect->min_person_score, 0.8);
  EXPECT_EQ(config.frame_spec.resize, ResizeRule::kShortSide256Pad16);
  EXPECT_EQ(config.frame_spec.size, 256);
  EXPECT_EQ(config.frame_spec.sampling.rule, SamplingRule::kAva);
  EXPECT_EQ(config.frame_spec.sampling.frame_step, 4);
  EXPECT_EQ(config.frame_spec.sampling.frame_rate, 30);
  EXPECT_FLOAT_EQ(config.mean[0] * 255, 122.7717F);
  EXPECT_FLOAT_EQ(config.std[2] * 255, 57.375F);
  EXPECT_THAT(said_, HasSubstr("3 classes of boxes"));
}

TEST_F(Import, ADetectionHeadOfAvaCountsFromOneAndNeedsItsEightyLabels) {
  ImportOptions options = Options("training.pth");
  options.labels = "ava";
  options.plan.architecture.detect = true;
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid), HasSubstr("3 classes, the labels are 80"));
}

TEST_F(Import, WritesABundleOfATrainingCheckpoint) {
  const std::string bundle = Done(Options("training.pth"));
  EXPECT_EQ(bundle, folder_.path() + "/models/m");
  const ModelConfig config = Config(bundle);
  EXPECT_EQ(config.name, "m");
  EXPECT_EQ(config.license, "not stated");
  EXPECT_THAT(config.tasks, ElementsAre("classify"));
  const BackboneConfig& b = config.backbone;
  EXPECT_EQ(b.embed_dim, 8);
  EXPECT_EQ(b.depth, 2);
  EXPECT_EQ(b.d_state, 4);
  EXPECT_EQ(b.d_conv, 4);
  EXPECT_EQ(b.expand, 2);
  EXPECT_EQ(b.dt_rank, 1);
  EXPECT_EQ(b.norm, NormKind::kRms);
  EXPECT_EQ(b.patch, 4);
  EXPECT_EQ(b.tubelet, 1);
  EXPECT_EQ(b.frames, 2);
  EXPECT_EQ(b.size, 8);
  EXPECT_FALSE(b.mixer.shared);
  EXPECT_EQ(config.frame_spec.resize, ResizeRule::kShortSideBilinear);
  EXPECT_EQ(config.frame_spec.sampling.rule, SamplingRule::kK400Sparse);
  EXPECT_EQ(config.frame_spec.sampling.temporal_views, 4);
  EXPECT_EQ(config.frame_spec.spatial_views, 3);
  EXPECT_EQ(config.mean, (std::array<float, 3>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(config.std, (std::array<float, 3>{0.229f, 0.224f, 0.225f}));
  EXPECT_EQ(config.classify.score, ScoreKind::kSoftmax);
  const auto labels = ReadBytes(bundle + "/labels.txt");
  EXPECT_EQ(std::string(labels.begin(), labels.end()), "run\njump\nswim\n");
  EXPECT_TRUE(fs::exists(bundle + "/README.md"));
  EXPECT_THAT(said_, AllOf(HasSubstr("state under model"), HasSubstr("nothing was executed"),
                           HasSubstr("2 layers of width 8, 2 frames, 8 px, 3 classes"),
                           HasSubstr("beside the state: optimizer, epoch"),
                           HasSubstr("none missing; 3 labels")));
}

TEST_F(Import, TheWeightsAreThoseOfTheFileInFp32) {
  for (const char* fixture : {"views.pth", "fp64.pth", "fp32.safetensors"}) {
    ImportOptions options = Options(fixture);
    options.name = fs::path(fixture).stem();
    const std::string bundle = Done(options);
    const SafetensorsFile file = ReadSafetensors(bundle + "/model.safetensors");
    EXPECT_EQ(file.tensors.size(), 8U + 2 * 17) << fixture;
    for (const auto& [name, tensor] : file.tensors) {
      ASSERT_EQ(tensor.dtype, "F32");
      EXPECT_EQ(tensor.values<float>(), Generate(name, tensor.shape, kFixtureSeed)) << name;
    }
    const auto header_size = ReadBytes(bundle + "/model.safetensors")[0];
    EXPECT_EQ(header_size % 8, 0);  // So that the floats are aligned in a mapped file.
  }
}

// The same bytes of weights, whichever way the file was wrapped: so their SHA-256 names the model.
TEST_F(Import, TheWayOfWrappingLeavesNoTraceInTheWeights) {
  std::set<std::string> digests;
  for (const char* fixture :
       {"ordered_dict.pth", "training.pth", "state_dict_wrapper_ddp.pth", "encoder_prefix.pth",
        "compiled.pth", "norm.pth", "parameters.pth", "masked_finetuned.pth", "subclass.pth",
        "backbone_prefix.pth", "fp32.safetensors"}) {
    ImportOptions options = Options(fixture);
    options.name = fs::path(fixture).stem();
    digests.insert(Config(Done(options)).weights.sha256);
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST_F(Import, ReadsTheArchitectureOffTheShapes) {
  EXPECT_EQ(Config(Done(Options("layernorm.pth"))).backbone.norm, NormKind::kLayer);
  ImportOptions tubelet = Options("tubelet2.pth");
  tubelet.name = "tubelet";
  EXPECT_EQ(Config(Done(tubelet)).backbone.tubelet, 2);
  EXPECT_EQ(Config(folder_.path() + "/models/tubelet").backbone.frames, 4);
  ImportOptions pro = Options("pro_v1.pth");
  pro.name = "pro";
  const MixerConfig mixer = Config(Done(pro)).backbone.mixer;
  EXPECT_TRUE(mixer.shared);
  EXPECT_TRUE(mixer.mask_backward);
  EXPECT_EQ(mixer.scan_input, MixerConfig::ScanInput::kRaw);
  EXPECT_THAT(said_, HasSubstr("videomambapro_v1"));
}

TEST_F(Import, TheMixerIsTheUsersWhereTheFileDoesNotTell) {
  ImportOptions options = Options("ordered_dict.pth");
  options.plan.architecture.mixer = "videomambapro_v2";
  EXPECT_EQ(Config(Done(options)).backbone.mixer.scan_input, MixerConfig::ScanInput::kRaw);
  options.plan.architecture.mixer = "videomambapro_v1";
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid), HasSubstr("does not fit the file"));
  ImportOptions pro = Options("pro_v1.pth");
  pro.plan.architecture.mixer = "videomamba";
  EXPECT_THAT(Refusal(pro, Reason::kFieldInvalid), HasSubstr("it is videomambapro_v1"));
}

TEST_F(Import, AHeadOf710IsCutForKinetics400Alone) {
  ImportOptions options = Options("head710.pth");
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid),
              AllOf(HasSubstr("710 classes, the labels are 3"), HasSubstr("--labels kinetics400")));
  options.labels = "kinetics400";
  const std::string bundle = Done(options);
  EXPECT_THAT(said_, HasSubstr("710 rows cut to the first 400"));
  const SafetensorsFile file = ReadSafetensors(bundle + "/model.safetensors");
  EXPECT_THAT(file.at("head.weight").shape, ElementsAre(400, 8));
  std::vector<float> head = Generate("head.weight", {710, 8}, kFixtureSeed);
  head.resize(400 * 8);
  EXPECT_EQ(file.at("head.weight").values<float>(), head);
  EXPECT_THAT(file.at("head.bias").shape, ElementsAre(400));
}

TEST_F(Import, AnImageModelIsInflated) {
  ImportOptions options = Options("image_distilled.pth");
  options.plan.architecture.tubelet = 3;
  options.plan.architecture.frames = 6;
  const std::string bundle = Done(options);
  EXPECT_THAT(said_,
              AllOf(HasSubstr("inflated to 3 frames"), HasSubstr("of pre-training: distill_head")));
  const SafetensorsFile file = ReadSafetensors(bundle + "/model.safetensors");
  const StoredTensor& patch = file.at("patch_embed.proj.weight");
  ASSERT_THAT(patch.shape, ElementsAre(8, 3, 3, 4, 4));
  const std::vector<float> flat = Generate("patch_embed.proj.weight", {8, 3, 4, 4}, kFixtureSeed);
  const std::vector<float> values = patch.values<float>();
  for (int channel = 0; channel < 8 * 3; ++channel) {
    for (int i = 0; i < 16; ++i) {
      EXPECT_EQ(values[channel * 48 + i], 0);
      EXPECT_EQ(values[channel * 48 + 16 + i], flat[channel * 16 + i]);  // the middle slice
      EXPECT_EQ(values[channel * 48 + 32 + i], 0);
    }
  }
  EXPECT_EQ(file.at("temporal_pos_embedding").values<float>(), std::vector<float>(2 * 8, 0.0f));
  ImportOptions plain = Options("image.pth");
  plain.name = "plain";
  EXPECT_EQ(Config(Done(plain)).backbone.frames, 8);
}

TEST_F(Import, FramesAndSizeOfTheUserAreLeftToTheLoadersInterpolation) {
  ImportOptions options = Options("ordered_dict.pth");
  options.plan.architecture.frames = 4;
  options.plan.architecture.size = 16;
  const std::string bundle = Done(options);
  EXPECT_EQ(Config(bundle).backbone.frames, 4);
  EXPECT_EQ(Config(bundle).backbone.size, 16);
  EXPECT_THAT(said_, AllOf(HasSubstr("temporal embedding of 2 frames, interpolated to 4"),
                           HasSubstr("spatial embedding of 8 px, interpolated to 16")));
  const SafetensorsFile file = ReadSafetensors(bundle + "/model.safetensors");
  EXPECT_THAT(file.at("temporal_pos_embedding").shape, ElementsAre(1, 2, 8));
  options.plan.architecture.size = 15;
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid), HasSubstr("no multiple of the patch"));
  ImportOptions tubelet = Options("tubelet2.pth");
  tubelet.plan.architecture.frames = 3;
  EXPECT_THAT(Refusal(tubelet, Reason::kFieldInvalid), HasSubstr("no multiple of the tubelet"));
}

TEST_F(Import, ViewsAndRuleAreThoseOfTheDataSetOrTheUsers) {
  LabelList ssv2{.name = "ssv2"};
  EXPECT_EQ(UseFor({}, ssv2, {}).rule, "ssv2");
  EXPECT_EQ(UseFor({}, ssv2, {}).temporal_views, 2);
  EXPECT_EQ(UseFor({}, ssv2, {}).spatial_views, 3);
  ImportOptions options = Options("ordered_dict.pth");
  options.use = {.rule = "uniform", .temporal_views = 1, .spatial_views = 1};
  const FrameSpec spec = Config(Done(options)).frame_spec;
  EXPECT_EQ(spec.sampling.rule, SamplingRule::kUniform);
  EXPECT_EQ(spec.sampling.temporal_views, 1);
  EXPECT_EQ(spec.spatial_views, 1);
}

TEST_F(Import, ListsWhatDoesNotFitInShortGroups) {
  EXPECT_THAT(Refusal(Options("missing.pth"), Reason::kBundleInvalid),
              HasSubstr("\n  missing: layers.*.mixer.out_proj.weight (2), norm_f.weight"));
  EXPECT_THAT(Refusal(Options("misshaped.pth"), Reason::kBundleInvalid),
              HasSubstr("wrong shape or type: layers.1.mixer.out_proj.weight, norm_f.weight "
                        "(layers.1.mixer.out_proj.weight is F32 [8, 15], not F32 [8, 16])"));
  EXPECT_THAT(Refusal(Options("integer_weight.pth"), Reason::kBundleInvalid),
              HasSubstr("norm_f.weight is I64 [8]"));
  EXPECT_THAT(
      Refusal(Options("unexpected.pth"), Reason::kBundleInvalid),
      HasSubstr("unexpected: fc_norm.weight, layers.*.gamma (2), steps; --drop-unexpected"));
}

TEST_F(Import, DropsTheUnexpectedWhenAsked) {
  ImportOptions options = Options("unexpected.pth");
  options.plan.drop_unexpected = true;
  const std::string bundle = Done(options);
  EXPECT_THAT(said_, HasSubstr("dropped   fc_norm.weight, layers.*.gamma (2), steps"));
  EXPECT_FALSE(ReadSafetensors(bundle + "/model.safetensors").has("fc_norm.weight"));
}

TEST_F(Import, RefusesWhatNoBundleCanHold) {
  const auto refusal = [&](const char* fixture) {
    return Refusal(Options(fixture), Reason::kBundleInvalid);
  };
  EXPECT_THAT(refusal("not_finite.pth"), HasSubstr("not so in norm_f.weight"));
  EXPECT_THAT(refusal("not_square.pth"), HasSubstr("6 for patches, which are no square"));
  EXPECT_THAT(refusal("masked_student.pth"), HasSubstr("pre-trained backbone"));
  EXPECT_THAT(refusal("legacy.pth"), HasSubstr("before 1.6"));
  EXPECT_THAT(refusal("no_such_file.pth"), HasSubstr("cannot read"));
  EXPECT_THAT(refusal("evil_eval.pth"), HasSubstr("missing: norm_f.weight"));
  EXPECT_FALSE(fs::exists(kTraceOfExecution));
}

TEST_F(Import, NamesTheTypeOfAHeadThatIsNotRead) {
  const std::string storage =
      opcode::Tuple({opcode::Text("storage"), opcode::Global("torch.storage", "UntypedStorage"),
                     opcode::Text("0"), opcode::Text("cpu"), opcode::Int(96)}) +
      "Q";
  const std::string float8 =
      opcode::Global("torch._utils", "_rebuild_tensor_v3") +
      opcode::Tuple({storage, opcode::Int(0), opcode::Ints({3, 8}), opcode::Ints({8, 1}), "\x89",
                     opcode::Global("collections", "OrderedDict") + ")R",
                     opcode::Global("torch", "float8_e4m3fn")}) +
      "R";
  const std::string complex = opcode::Tensor(
      {.type = "ComplexFloatStorage", .storage_size = 24, .shape = {3, 8}, .stride = {8, 1}});
  const std::string sparse =
      opcode::Global("torch._utils", "_rebuild_sparse_tensor") +
      opcode::Tuple({opcode::Global("torch.serialization", "_get_layout") +
                     opcode::Tuple({opcode::Text("torch.sparse_coo")}) + "R"}) +
      "R";
  const std::string other =
      opcode::Tensor({.storage_size = 8, .shape = {1, 1, 8}, .stride = {8, 8, 1}});
  for (const auto& [head, type] :
       {std::pair(float8, "float8_e4m3fn"), std::pair(complex, "ComplexFloatStorage"),
        std::pair(sparse, "sparse_tensor")}) {
    folder_.Write(
        "head.pth",
        PthOfPickle(opcode::kProtocol2 +
                        opcode::Dict({{"module.cls_token", other}, {"module.head.weight", head}}) +
                        ".",
                    {std::string(32, '\0')}));
    ImportOptions options = Options("ordered_dict.pth");
    options.file = folder_.path() + "/head.pth";
    EXPECT_THAT(Refusal(options, Reason::kBundleInvalid),
                HasSubstr(std::string("head.weight has type ") + type + ", which is not read"));
  }
}

TEST_F(Import, NamesOfTensorsCannotDriveTheTerminal) {
  EXPECT_EQ(ShortGroups({"a\x1B[31m\nb", "layers.0.x\ry"}), "a?[31m?b, layers.0.x?y");
}

TEST_F(Import, ChecksLabelsAgainstTheHead) {
  ImportOptions options = Options("ordered_dict.pth");
  options.labels = "ssv2";
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid),
              HasSubstr("the head has 3 classes, the labels are 174"));
}

TEST_F(Import, RefusesNamesThatAreNoFolder) {
  for (const char* name : {"", "..", ".hidden", "a/b", "a b", "-f", "caf\xc3\xa9", "Upper"}) {
    ImportOptions options = Options("ordered_dict.pth");
    options.name = name;
    EXPECT_THAT(Refusal(options, Reason::kFieldInvalid), HasSubstr("--name"));
  }
}

TEST_F(Import, TheSecondRunChangesNothing) {
  const ImportOptions options = Options("ordered_dict.pth");
  const std::string bundle = Done(options);
  folder_.Write("models/m/README.md", "my own words");
  const auto time = fs::last_write_time(bundle + "/model.safetensors");
  const auto again = ImportCheckpoint(options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->unchanged);
  EXPECT_EQ(fs::last_write_time(bundle + "/model.safetensors"), time);
  const auto card = ReadBytes(bundle + "/README.md");
  EXPECT_EQ(std::string(card.begin(), card.end()), "my own words");
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST_F(Import, ReplacesAnotherModelOnlyByForce) {
  const std::string bundle = Done(Options("ordered_dict.pth"));
  ImportOptions other = Options("layernorm.pth");
  EXPECT_THAT(Refusal(other, Reason::kFieldInvalid), HasSubstr("--force"));
  EXPECT_EQ(Config(bundle).backbone.norm, NormKind::kRms);
  other.force = true;
  EXPECT_EQ(Config(Done(other)).backbone.norm, NormKind::kLayer);
  EXPECT_THAT(Entries(folder_.path() + "/models"), ElementsAre("m"));
  EXPECT_THAT(Entries(bundle),
              UnorderedElementsAre("README.md", "config.json", "labels.txt", "model.safetensors"));
}

TEST_F(Import, NeverReplacesWhatIsNoModel) {
  fs::create_directories(folder_.path() + "/models/m");
  folder_.Write("models/m/thesis.tex", "do not lose");
  ImportOptions options = Options("ordered_dict.pth");
  options.force = true;
  EXPECT_THAT(Refusal(options, Reason::kFieldInvalid), HasSubstr("is no model"));
  EXPECT_TRUE(fs::exists(folder_.path() + "/models/m/thesis.tex"));
}

TEST_F(Import, ForceDeletesNoFileOfTheUsers) {
  const std::string bundle = Done(Options("ordered_dict.pth"));
  ImportOptions other = Options("layernorm.pth");
  other.force = true;
  folder_.Write("models/m/notes.txt", "do not lose");
  EXPECT_THAT(Refusal(other, Reason::kFieldInvalid), HasSubstr("/models/m holds notes.txt"));
  EXPECT_TRUE(fs::exists(bundle + "/notes.txt"));
  EXPECT_EQ(Config(bundle).backbone.norm, NormKind::kRms);
  EXPECT_THAT(Entries(folder_.path() + "/models"), ElementsAre("m"));
  fs::remove(bundle + "/notes.txt");
  fs::create_directories(bundle + "/clips");
  EXPECT_THAT(Refusal(other, Reason::kFieldInvalid), HasSubstr("holds clips"));
}

TEST_F(Import, RemovesWhatAKilledImportOfThatNameLeft) {
  const std::string models = folder_.path() + "/models/";
  for (const char* name : {".m.aB3xYz", ".m.live01", ".m.notes1", ".m.n.aB3xYz", ".m.longer1"}) {
    fs::create_directories(models + name);
    folder_.Write(std::string("models/") + name + "/model.safetensors", "half of the weights");
  }
  folder_.Write("models/.m.notes1/thesis.tex", "do not lose");
  const int live = open((models + ".m.live01").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(live, LOCK_EX | LOCK_NB), 0);
  Done(Options("ordered_dict.pth"));
  EXPECT_THAT(Entries(models),
              UnorderedElementsAre("m", ".m.live01", ".m.notes1", ".m.n.aB3xYz", ".m.longer1"));
  close(live);
}

TEST_F(Import, AnInterruptLeavesNothing) {
  const std::atomic<bool> stop = true;
  ImportOptions options = Options("ordered_dict.pth");
  options.stop = &stop;
  EXPECT_THAT(Refusal(options, Reason::kCancelled), HasSubstr("interrupted"));
}

TEST_F(Import, RecordsWhereTheWeightsCameFrom) {
  const std::string bundle = Done(Options("state_dict_wrapper_ddp.pth"));
  const auto text = ReadBytes(bundle + "/config.json");
  const auto json = nlohmann::json::parse(text.begin(), text.end());
  EXPECT_EQ(json["source"]["file"], "state_dict_wrapper_ddp.pth");
  EXPECT_EQ(json["source"]["note"], "torch.save, state under state_dict, prefix module.");
  EXPECT_EQ(json["source"]["sha256"].get<std::string>().size(), 64U);
  EXPECT_NE(json["source"]["sha256"], json["weights"]["sha256"]);
}

TEST_F(Import, AStorageClaimedByEveryTensorIsRefused) {
  // All of one storage of 4096 zeros: the file is small, what it claims is not.
  std::vector<std::pair<std::string, std::string>> state;
  for (const auto& [name, shape] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
           {"cls_token", {1, 1, 8}},
           {"pos_embed", {1, 2, 8}},
           {"temporal_pos_embedding", {1, 512, 8}},
           {"patch_embed.proj.weight", {8, 3, 1, 4, 4}},
           {"patch_embed.proj.bias", {8}},
           {"norm_f.weight", {8}},
           {"head.weight", {3, 8}},
           {"head.bias", {3}}}) {
    std::vector<int64_t> stride(shape.size(), 0);
    state.emplace_back(name,
                       opcode::Tensor({.storage_size = 4096, .shape = shape, .stride = stride}));
  }
  for (int layer = 0; layer < 200; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    const std::string mixer = prefix + "mixer.";
    std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {
        {prefix + "norm.weight", {8}},
        {mixer + "in_proj.weight", {32, 8}},
        {mixer + "out_proj.weight", {8, 16}},
        {mixer + "A_log", {16, 200}},
        {mixer + "A_b_log", {16, 200}},
        {mixer + "conv1d.weight", {16, 1, 4}},
        {mixer + "conv1d.bias", {16}},
        {mixer + "x_proj.weight", {401, 16}},
        {mixer + "dt_proj.weight", {16, 1}},
        {mixer + "dt_proj.bias", {16}},
        {mixer + "D", {16}}};
    shapes[7].second = {201, 16};
    shapes[3].second = shapes[4].second = {16, 100};
    for (const auto& [name, shape] : shapes) {
      state.emplace_back(name, opcode::Tensor({.storage_size = 4096,
                                               .shape = shape,
                                               .stride = std::vector<int64_t>(shape.size(), 0)}));
    }
  }
  const std::string file = PthOfPickle(opcode::kProtocol2 + opcode::Dict(state) + ".",
                                       {std::string(4096 * sizeof(float), '\0')});
  folder_.Write("bomb.pth", file);
  ImportOptions options = Options("ordered_dict.pth");
  options.file = folder_.path() + "/bomb.pth";
  EXPECT_THAT(Refusal(options, Reason::kBundleInvalid), HasSubstr("claim more values"));
}

}  // namespace
}  // namespace scanline::testing
