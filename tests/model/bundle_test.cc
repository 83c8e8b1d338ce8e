#include "model/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "model/weights.h"
#include "tests/model/bundle_folder.h"

namespace scanline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const SmallBundle& bundle) {
  const auto loaded = ModelBundle::Load(bundle.Write());
  if (loaded.ok()) return "no error";
  EXPECT_EQ(ReasonOf(loaded.status()), Reason::kBundleInvalid);
  return std::string(loaded.status().message());
}

TEST(ModelBundle, LoadsWhatItsConfigDescribes) {
  const SmallBundle small;
  const auto bundle = ModelBundle::Load(small.Write());
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ((*bundle)->config().name, "small");
  EXPECT_THAT((*bundle)->config().classify.labels, ::testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ((*bundle)->weights().tensors().size(), small.tensors.size());
  EXPECT_EQ((*bundle)->weights_sha256().size(), 64u);
}

TEST(ModelBundle, NamesMissingLeftOverAndMisshapedTensors) {
  SmallBundle bundle;
  bundle.tensors.push_back({"box_head.weight", {1}, {0}});
  bundle.At("layers.0.norm.weight").name = "layers.0.norm.wait";
  TensorToWrite& norm = bundle.At("norm_f.weight");
  norm.shape = {4, 4};
  EXPECT_THAT(
      ErrorOf(bundle),
      AllOf(HasSubstr("missing: layers.0.norm.weight"),
            HasSubstr("wrong shape: norm_f.weight is [4, 4], not [16]"),
            HasSubstr("not described by config.json: box_head.weight, layers.0.norm.wait")));
}

TEST(ModelBundle, KeepsALongListOfTensorsShort) {
  SmallBundle bundle;
  bundle.tensors.resize(1);
  EXPECT_THAT(ErrorOf(bundle), AllOf(HasSubstr(" more"), Not(HasSubstr("layers.1.mixer.x_proj"))));
}

TEST(ModelBundle, SharedMixersHaveNoBackwardParameters) {
  SmallBundle bundle;
  bundle.config["backbone"]["mixer"] = "videomambapro_v1";
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("not described by config.json: layers.0.mixer.D_b"));
}

TEST(ModelBundle, NamesTensorsWithNonFiniteWeights) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF}) {
    SmallBundle bundle;
    bundle.At("layers.1.mixer.in_proj.weight").values.back() = bad;
    EXPECT_THAT(ErrorOf(bundle), HasSubstr("not so in layers.1.mixer.in_proj.weight"));
  }
}

TEST(ModelBundle, ComparesLabelsWithTheHead) {
  SmallBundle bundle;
  bundle.labels = "a\nb\n";
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("head.weight has 3 rows, the label list has 2 entries"));
  bundle.labels = "a\n\nb\nc\n";
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("labels.txt:2: the line is empty"));
}

// Each of these would be served, and then no client could read or understand an answer.
TEST(ModelBundle, RefusesLabelsThatNoAnswerCanCarry) {
  SmallBundle bundle;
  for (const char* bytes : {"caf\xe9", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    bundle.labels = std::string("a\n") + bytes + "\nc\n";
    EXPECT_THAT(ErrorOf(bundle), HasSubstr("labels.txt:2: expected UTF-8"));
  }
  bundle.labels = "a\nb\r\na\n";
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("labels.txt:3: \"a\" is in line 1 already"));
  bundle.labels = "caf\u00e9\n\u6253\nc\n";
  EXPECT_EQ(ErrorOf(bundle), "no error");
}

TEST(ModelBundle, ComparesTheHashOfTheWeights) {
  SmallBundle bundle;
  const auto first = ModelBundle::Load(bundle.Write());
  ASSERT_TRUE(first.ok());
  bundle.config["weights"]["sha256"] = (*first)->weights_sha256();
  EXPECT_EQ(ErrorOf(bundle), "no error");
  bundle.At("cls_token").values[0] += 1;
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("config.json says " + (*first)->weights_sha256()));
}

TEST(ModelBundle, FitsPositionsToTheModel) {
  SmallBundle bundle;
  TensorToWrite& space = bundle.At("pos_embed");
  space.shape = {1, 1 + 9, 16};
  space.values.resize(10 * 16, 0.5f);
  TensorToWrite& time = bundle.At("temporal_pos_embedding");
  time.shape = {1, 5, 16};
  time.values.resize(5 * 16, 0.25f);
  const auto loaded = ModelBundle::Load(bundle.Write());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->weights().Get("pos_embed").shape[1], 1 + 4);
  EXPECT_EQ((*loaded)->weights().Get("temporal_pos_embedding").shape[1], 2);

  space.shape = {1, 1 + 8, 16};
  space.values.resize(9 * 16);
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("square grid"));
}

TEST(ModelBundle, SaysWhichFileIsNotThere) {
  SmallBundle bundle;
  bundle.config["weights"]["file"] = "other.safetensors";
  EXPECT_THAT(ErrorOf(bundle), HasSubstr("other.safetensors: No such file"));
  const auto none = ModelBundle::Load("/nowhere");
  EXPECT_THAT(none.status().message(), HasSubstr("/nowhere/config.json"));
}

TEST(ModelBundle, TheDefaultBundleLoadsWithItsThreeHeads) {
  const auto loaded = ModelBundle::Load(SCANLINE_SOURCE_DIR "/assets/models/tagger24");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const ModelConfig& config = (*loaded)->config();
  EXPECT_THAT(config.tasks, ::testing::ElementsAre("classify", "embed", "match", "detect"));
  EXPECT_EQ(config.classify.labels.size(), 24u);
  EXPECT_EQ(config.text_tower->vocab.size(), 59u);
  EXPECT_NEAR((*loaded)->temperature(), 0.0596, 5e-5);  // As its card says.
  EXPECT_EQ(config.detect->labels.size(), 6u);
  EXPECT_EQ(config.weights.sha256, (*loaded)->weights_sha256());
}

}  // namespace
}  // namespace scanline::testing
