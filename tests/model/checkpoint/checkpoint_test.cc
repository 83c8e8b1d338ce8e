// What real PyTorch wrote (tests/data/checkpoints), and files that it never would.
#include "model/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "model/checkpoint/names.h"
#include "tests/model/checkpoint/fixtures.h"
#include "tests/model/generator.h"
#include "tests/support/pth_writer.h"

namespace scanline::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

struct Expected {
  const char* file;
  const char* wrapper = "";
  std::vector<std::string> prefixes;
  double error = 0;  // of a value, relative: what its type rounds away
};

std::ostream& operator<<(std::ostream& out, const Expected& expected) {
  return out << expected.file;
}

class RealFile : public ::testing::TestWithParam<Expected> {};

// Every tensor has the generator's values under its official name, whatever stood around it.
TEST_P(RealFile, GivesTheWeights) {
  const OpenFixture fixture(GetParam().file);
  ASSERT_TRUE(fixture.checkpoint) << fixture.status;
  const Checkpoint& checkpoint = *fixture.checkpoint;
  EXPECT_EQ(checkpoint.wrapper(), GetParam().wrapper);
  const auto names = NormaliseNames(checkpoint.tensors());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->prefixes, GetParam().prefixes);
  EXPECT_GE(names->index.size(), 25U);
  EXPECT_EQ(names->index.count("norm_f.weight"), 1U);
  EXPECT_EQ(names->index.count("layers.0.mixer.A_b_log"), 1U);
  for (const auto& [name, index] : names->index) {
    const CheckpointTensor& tensor = checkpoint.tensors()[index];
    std::vector<float> values(static_cast<size_t>(tensor.size()));
    ASSERT_TRUE(checkpoint.ReadFloats(index, values.data()).ok()) << name;
    const std::vector<float> expected = Generate(name, tensor.shape, kFixtureSeed);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_LE(std::abs(values[i] - expected[i]), GetParam().error * std::abs(expected[i]))
          << name << "[" << i << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoints, RealFile,
    ::testing::Values(Expected{"ordered_dict.pth"}, Expected{"plain_dict.pth"},
                      Expected{"training.pth", "model"}, Expected{"module_wrapper.pth", "module"},
                      Expected{"state_dict_wrapper_ddp.pth", "state_dict", {"module."}},
                      Expected{"nested_wrapper.pth", "state_dict/model"},
                      Expected{"backbone_prefix.pth", "", {"backbone."}},
                      Expected{"encoder_prefix.pth", "model", {"encoder."}},
                      Expected{"compiled.pth", "", {"_orig_mod.", "module."}},
                      Expected{"bf16.pth", "module", {}, 0x1p-8},
                      Expected{"fp16.pth", "", {}, 0x1p-9}, Expected{"fp64.pth"},
                      Expected{"parameters.pth"}, Expected{"subclass.pth"}, Expected{"views.pth"},
                      Expected{"norm.pth", "model"}, Expected{"layernorm.pth"},
                      Expected{"tubelet2.pth"}, Expected{"head710.pth", "model"},
                      Expected{"pro_v1.pth", "model"}, Expected{"image.pth", "model"},
                      Expected{"protocol3.pth", "model"}, Expected{"protocol4.pth", "model"},
                      Expected{"protocol5.pth", "model"}, Expected{"fp32.safetensors"},
                      Expected{"bf16.safetensors", "", {"backbone."}, 0x1p-8}),
    [](const auto& info) {
      std::string name = info.param.file;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Checkpoint, SaysWhatItLeavesAlone) {
  const OpenFixture training("training.pth");
  ASSERT_TRUE(training.checkpoint) << training.status;
  EXPECT_THAT(training.checkpoint->beside(),
              ElementsAre("optimizer", "epoch", "scaler", "args", "best", "seen", "huge"));
  const OpenFixture student("masked_student.pth");
  ASSERT_TRUE(student.checkpoint) << student.status;
  const auto names = NormaliseNames(student.checkpoint->tensors());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->training.size(), 4U);
  EXPECT_EQ(names->index.count("norm_f.weight"), 1U);  // It is called norm there.
}

TEST(Checkpoint, NeverRunsWhatAFileAsksFor) {
  for (const char* file : {"evil_system.pth", "evil_eval.pth", "evil_root.pth"}) {
    const OpenFixture fixture(file);
    if (fixture.checkpoint) {
      for (size_t i = 0; i < fixture.checkpoint->tensors().size(); ++i) {
        std::vector<float> out(static_cast<size_t>(fixture.checkpoint->tensors()[i].size()));
        EXPECT_TRUE(fixture.checkpoint->ReadFloats(i, out.data()).ok());
      }
    }
    EXPECT_FALSE(std::filesystem::exists(kTraceOfExecution)) << file;
  }
  EXPECT_THAT(OpenFixture("evil_eval.pth").checkpoint->not_tensors(), ElementsAre("norm_f.weight"));
  EXPECT_TRUE(OpenFixture("evil_system.pth").checkpoint);
  EXPECT_THAT(OpenFixture("evil_root.pth").status.message(), HasSubstr("posix.system"));
}

std::string Refusal(const std::string& bytes) {
  const auto checkpoint = Checkpoint::Open(Span(bytes));
  if (checkpoint.ok()) return "accepted";
  EXPECT_EQ(checkpoint.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(checkpoint.status().message());
}

std::string RefusalOf(const std::string& fixture) {
  const auto bytes = ReadBytes(FixturePath(fixture));
  return Refusal({bytes.begin(), bytes.end()});
}

TEST(Checkpoint, SaysWhatToDoWithOtherFiles) {
  EXPECT_THAT(RefusalOf("legacy.pth"), AllOf(HasSubstr("before 1.6"), HasSubstr("torch.save(")));
  EXPECT_THAT(RefusalOf("torchscript.pth"), HasSubstr("TorchScript"));
  EXPECT_THAT(RefusalOf("bare_pickle.pth"), HasSubstr("bare Python pickle"));
  EXPECT_THAT(RefusalOf("whole_module.pth"),
              AllOf(HasSubstr("torch.nn.modules.linear.Linear"), HasSubstr("model.state_dict()")));
  EXPECT_THAT(RefusalOf("no_tensors.pth"), HasSubstr("no state dict"));
  EXPECT_THAT(Refusal(""), HasSubstr("empty"));
  EXPECT_THAT(Refusal("GIF89a"), HasSubstr("neither"));
  EXPECT_THAT(Refusal(ZipBytes({{"word/document.xml", "<w/>"}})), HasSubstr("no NAME/data.pkl"));
}

// A checkpoint of one tensor of four floats, as `view` describes it.
std::string OneTensor(const opcode::TensorView& view, size_t storage_bytes = 16) {
  return PthOfPickle(opcode::kProtocol2 + opcode::Dict({{"w", opcode::Tensor(view)}}) + ".",
                     {std::string(storage_bytes, '\0')});
}

TEST(Checkpoint, AcceptsViewsThatFit) {
  EXPECT_EQ(Refusal(OneTensor({.storage_size = 4, .shape = {2, 2}, .stride = {2, 1}})), "accepted");
  EXPECT_EQ(Refusal(OneTensor({.storage_size = 4, .shape = {2, 2}, .stride = {1, 2}})), "accepted");
  EXPECT_EQ(Refusal(OneTensor({.storage_size = 4, .shape = {}, .stride = {}})), "accepted");
  EXPECT_EQ(
      Refusal(OneTensor({.storage_size = 4, .offset = 3, .shape = {1}, .stride = {INT64_MAX}})),
      "accepted");
  EXPECT_EQ(Refusal(OneTensor({.storage_size = 4, .shape = {0, 7}, .stride = {7, 1}})), "accepted");
}

TEST(Checkpoint, RefusesViewsThatLeaveTheirStorage) {
  const opcode::TensorView views[] = {
      {.storage_size = 4, .shape = {5}, .stride = {1}},
      {.storage_size = 4, .offset = 1, .shape = {4}, .stride = {1}},
      {.storage_size = 4, .offset = INT64_MAX, .shape = {4}, .stride = {1}},
      {.storage_size = 4, .shape = {2}, .stride = {4}},
      {.storage_size = 4,
       .shape = {1'000'000},
       .stride = {0}},  // More values than there are bytes.
      {.storage_size = 4, .shape = {INT64_MAX, INT64_MAX}, .stride = {0, 0}},
      {.storage_size = 4, .shape = {INT64_MAX, 4, 0}, .stride = {0, 0, 0}},
      {.storage_size = 4, .shape = {3, 3}, .stride = {INT64_MAX, INT64_MAX}},
      {.storage_size = 4, .shape = {2, 2}, .stride = {1}},
      {.storage_size = 4, .offset = -1, .shape = {4}, .stride = {1}},
      {.storage_size = 4, .shape = {-4}, .stride = {1}},
      {.storage_size = 4, .shape = {4}, .stride = {-1}},
      {.storage_size = -4, .shape = {4}, .stride = {1}},
      {.storage_size = 4,
       .shape = std::vector<int64_t>(17, 1),
       .stride = std::vector<int64_t>(17, 1)},
  };
  for (const auto& view : views) {
    EXPECT_THAT(Refusal(OneTensor(view)), HasSubstr("w: its shape, strides and storage"));
  }
}

TEST(Checkpoint, RefusesStoragesOfTheWrongSize) {
  const opcode::TensorView view = {.storage_size = 4, .shape = {4}, .stride = {1}};
  EXPECT_THAT(Refusal(OneTensor(view, 15)), HasSubstr("should have 4 values of F32"));
  EXPECT_THAT(Refusal(OneTensor(view, 17)), HasSubstr("the file has 17 bytes"));
  opcode::TensorView huge = view;
  huge.storage_size = int64_t{1} << 62;
  EXPECT_THAT(Refusal(OneTensor(huge)), HasSubstr("should have"));
  opcode::TensorView elsewhere = view;
  elsewhere.key = "../../etc/passwd";
  EXPECT_THAT(Refusal(OneTensor(elsewhere)), HasSubstr("is missing in the file"));
}

TEST(Checkpoint, RefusesBigEndianFilesAndTwoPickles) {
  const std::string pickle = opcode::kProtocol2 + "}.";
  EXPECT_THAT(Refusal(ZipBytes({{"a/data.pkl", pickle}, {"a/byteorder", "big"}})),
              HasSubstr("big-endian"));
  EXPECT_THAT(Refusal(ZipBytes({{"a/data.pkl", pickle}, {"b/data.pkl", pickle}})),
              HasSubstr("two data.pkl"));
}

TEST(Checkpoint, WrappersInACircleEnd) {  // {"model": itself, "w": tensor}
  const std::string tensor = opcode::Tensor({.storage_size = 4, .shape = {4}, .stride = {1}});
  const std::string circle = opcode::kProtocol2 + "}q\x01(" + opcode::Text("model") + "h\x01" +
                             opcode::Text("w") + tensor + "u.";
  EXPECT_EQ(Refusal(PthOfPickle(circle, {std::string(16, '\0')})), "accepted");
  std::string tuples = opcode::kProtocol2 + ")";  // _rebuild_parameter of itself, many deep
  for (int i = 0; i < 1000; ++i) {
    tuples = opcode::kProtocol2 + opcode::Global("torch._utils", "_rebuild_parameter") +
             tuples.substr(2) + "\x85R";
  }
  EXPECT_THAT(Refusal(PthOfPickle(
                  opcode::kProtocol2 + "}" + opcode::Text("w") + tuples.substr(2) + "s.", {})),
              HasSubstr("no state dict"));
}

TEST(Checkpoint, RefusesTheSameNameTwice) {
  const std::string tensor = opcode::Tensor({.storage_size = 4, .shape = {4}, .stride = {1}});
  const std::string twice = opcode::kProtocol2 + opcode::Dict({{"w", tensor}, {"w", tensor}}) + ".";
  EXPECT_THAT(Refusal(PthOfPickle(twice, {std::string(16, '\0')})), HasSubstr("w is there twice"));
}

TEST(Checkpoint, ARealFileCutAnywhereIsRefused) {
  const auto bytes = ReadBytes(FixturePath("head710.pth"));
  for (size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_NE(Refusal({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}), "accepted")
        << size;
  }
}

TEST(NormaliseNames, RefusesNamesThatMeet) {
  const auto names = NormaliseNames({{"module.head.bias", "F32", {3}}, {"head.bias", "F32", {3}}});
  EXPECT_THAT(names.status().message(), HasSubstr("are both head.bias"));
}

TEST(NormaliseNames, TheMultimodalModelsAreTheSameByEitherCode) {
  std::vector<std::vector<std::string>> found;
  for (const char* file : {"multimodal.pth", "multimodal_bf16.pth", "multimodal_no_mlm.pth"}) {
    const OpenFixture fixture(file);
    ASSERT_TRUE(fixture.checkpoint) << fixture.status;
    const auto names = NormaliseNames(fixture.checkpoint->tensors());
    ASSERT_TRUE(names.ok()) << names.status();
    found.emplace_back();
    for (const auto& item : names->index) found.back().push_back(item.first);
    EXPECT_THAT(names->training, Contains("clip_decoder.0.head.weight"));
    EXPECT_THAT(names->training, Contains("clip_teacher.proj"));
  }
  EXPECT_THAT(found[0], IsSupersetOf({"cls_token", "norm_f.weight", "pool_norm.bias",
                                      "text_encoder.embeddings.LayerNorm.bias",
                                      "text_encoder.encoder.layer.1.output.dense.bias",
                                      "text_proj.weight", "itm_head.bias", "temp"}));
  for (const std::string& name : found[0]) {
    EXPECT_THAT(name, Not(AnyOf(HasSubstr("predictions"), HasSubstr("position_ids"),
                                HasSubstr("vision_encoder"))));
  }
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
}

TEST(ShortGroups, NeverIsAWallOfKeys) {
  std::vector<std::string> names;
  for (int layer = 0; layer < 24; ++layer) {
    for (const char* key : {"A_log", "B", "C", "D", "E", "F", "G"}) {
      names.push_back("layers." + std::to_string(layer) + ".mixer." + key);
    }
  }
  EXPECT_EQ(ShortGroups(names),
            "layers.*.mixer.A_log (24), layers.*.mixer.B (24), layers.*.mixer.C (24), "
            "layers.*.mixer.D (24), layers.*.mixer.E (24) and 2 more");
  EXPECT_EQ(ShortGroups({"head.bias", "layers.x", "layers.3"}), "head.bias, layers.x, layers.3");
  EXPECT_EQ(ShortGroups({}), "");
}

}  // namespace
}  // namespace scanline::testing
