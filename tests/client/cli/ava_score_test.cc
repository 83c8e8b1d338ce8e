#include "client/cli/ava_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/support/files.h"
#include "tests/support/safetensors.h"

namespace scanline::cli {
namespace {

// Rows of the vector: keyframe, four sides, action[, score].
std::vector<AvaAction> Rows(const testing::StoredTensor& tensor) {
  const auto values = tensor.values<double>();
  const size_t columns = static_cast<size_t>(tensor.shape.at(1));
  std::vector<AvaAction> rows;
  for (size_t i = 0; i < values.size(); i += columns) {
    const double* row = values.data() + i;
    rows.push_back({{"clip", static_cast<int64_t>(row[0])},
                    row[1],
                    row[2],
                    row[3],
                    row[4],
                    static_cast<int>(row[5]),
                    columns > 6 ? row[6] : 1});
  }
  return rows;
}

TEST(ScoreAva, IsTheReferences) {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::ReferenceFolder())) {
    if (entry.path().filename().string().rfind("ava_map", 0) != 0) continue;
    SCOPED_TRACE(entry.path());
    const auto file = testing::ReadSafetensors(entry.path());
    const AvaScores scores =
        ScoreAva(Rows(file.at("ground_truth")), Rows(file.at("detections")), {});
    const auto ids = file.at("class_ids").values<int64_t>();
    const auto wanted = file.at("ap_per_class").values<double>();
    ASSERT_FALSE(ids.empty());
    ASSERT_EQ(scores.actions.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(scores.actions[i].action, ids[i]);
      EXPECT_NEAR(scores.actions[i].average_precision, wanted[i], 1e-9) << "action " << ids[i];
    }
    EXPECT_NEAR(scores.mean_average_precision, file.at("map").values<double>()[0], 1e-9);
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

// A box of side 1 at `x`.
AvaAction At(int64_t ms, double x, int action, double score = 1) {
  return {{"clip", ms}, x, 0, x + 1, 1, action, score};
}

TEST(ScoreAva, SumsThePrecisionOverTheStepsOfRecall) {
  const std::vector<AvaAction> truths = {At(0, 0, 1), At(0, 5, 1), At(1000, 0, 1)};
  // Right, wrong, right, and one that is never found: 1/3 * 1 + 1/3 * 2/3.
  const AvaScores scores = ScoreAva(
      truths, std::vector<AvaAction>{At(1000, 0, 1, 0.5), At(0, 0, 1, 0.9), At(0, 9, 1, 0.7)}, {});
  ASSERT_EQ(scores.actions.size(), 1);
  EXPECT_NEAR(scores.mean_average_precision, 1.0 / 3 + 2.0 / 9, 1e-12);
  EXPECT_EQ(scores.actions[0].truths, 3);
  EXPECT_EQ(scores.actions[0].found, 3);
  EXPECT_EQ(scores.actions[0].right, 2);
  EXPECT_EQ(scores.frames, 2);
}

TEST(ScoreAva, APrecisionThatRisesAgainCounts) {
  // Wrong first, then right twice: both steps have the later, higher precision 2/3.
  const std::vector<AvaAction> truths = {At(0, 0, 1), At(0, 5, 1)};
  const std::vector<AvaAction> findings = {At(0, 9, 1, 0.9), At(0, 0, 1, 0.8), At(0, 5, 1, 0.7)};
  EXPECT_NEAR(ScoreAva(truths, findings, {}).mean_average_precision, 2.0 / 3, 1e-12);
}

TEST(ScoreAva, ATruthIsFoundOnce) {
  const std::vector<AvaAction> twice = {At(0, 0, 1, 0.9), At(0, 0.1, 1, 0.8)};
  const AvaScores scores = ScoreAva(std::vector<AvaAction>{At(0, 0, 1)}, twice, {});
  EXPECT_EQ(scores.actions[0].right, 1);
  EXPECT_EQ(scores.mean_average_precision, 1);
}

TEST(ScoreAva, AFindingIsJudgedByTheTruthThatItOverlapsMost) {
  // The second overlaps the truth at 0 most, which the first has; that at 0.4 stays unfound, though
  // it too is overlapped enough.
  const std::vector<AvaAction> truths = {At(0, 0, 1), At(0, 0.4, 1)};
  const std::vector<AvaAction> findings = {At(0, 0, 1, 0.9), At(0, 0.15, 1, 0.8)};
  EXPECT_EQ(ScoreAva(truths, findings, {}).actions[0].right, 1);
}

TEST(ScoreAva, HalfTheUnionIsEnough) {
  const std::vector<AvaAction> truth = {{{"clip", 0}, 0, 0, 1, 1, 1}};
  const std::vector<AvaAction> half = {{{"clip", 0}, 0, 0, 0.5, 1, 1, 0.9}};
  EXPECT_EQ(ScoreAva(truth, half, {}).mean_average_precision, 1);
  EXPECT_EQ(ScoreAva(truth, half, {.min_iou = 0.51}).mean_average_precision, 0);
}

TEST(ScoreAva, OtherKeyframesVideosAndActionsDoNotHelp) {
  const std::vector<AvaAction> truth = {At(1000, 0, 1)};
  EXPECT_EQ(ScoreAva(truth, std::vector<AvaAction>{At(2000, 0, 1)}, {}).mean_average_precision, 0);
  EXPECT_EQ(ScoreAva(truth, std::vector<AvaAction>{At(1000, 0, 2)}, {}).mean_average_precision, 0);
  AvaAction elsewhere = At(1000, 0, 1);
  elsewhere.frame.first = "other";
  EXPECT_EQ(ScoreAva(truth, std::vector<AvaAction>{elsewhere}, {}).mean_average_precision, 0);
}

TEST(ScoreAva, AnActionThatNeverHappensHasNoPart) {
  const AvaScores scores = ScoreAva(std::vector<AvaAction>{At(0, 0, 1)},
                                    std::vector<AvaAction>{At(0, 0, 1), At(0, 0, 2)}, {});
  ASSERT_EQ(scores.actions.size(), 2);
  EXPECT_TRUE(std::isnan(scores.actions[1].average_precision));
  EXPECT_EQ(scores.mean_average_precision, 1);
  EXPECT_TRUE(std::isnan(ScoreAva({}, {}, {}).mean_average_precision));
}

TEST(ScoreAva, ExcludedKeyframesAndOtherActionsAreNotJudged) {
  const std::vector<AvaAction> truths = {At(0, 0, 1), At(1000, 0, 1), At(0, 0, 2)};
  const std::vector<AvaAction> findings = {At(0, 0, 1, 0.5), At(1000, 7, 1, 0.9)};
  AvaOptions options;
  options.actions = {1};
  EXPECT_EQ(ScoreAva(truths, findings, options).mean_average_precision, 0.25);
  options.excluded = {{"clip", 1000}};
  const AvaScores scores = ScoreAva(truths, findings, options);
  EXPECT_EQ(scores.mean_average_precision, 1);
  EXPECT_EQ(scores.excluded_rows, 2);
  EXPECT_EQ(scores.frames, 1);
}

TEST(ScoreAva, AnEmptyBoxIsNoFinding) {
  const std::vector<AvaAction> empty = {{{"clip", 0}, 0, 0, 0, 1, 1, 0.9}, At(0, 0, 1, 0.1)};
  const AvaScores scores = ScoreAva(std::vector<AvaAction>{At(0, 0, 1)}, empty, {});
  EXPECT_EQ(scores.mean_average_precision, 1);
  EXPECT_EQ(scores.actions[0].found, 1);
}

}  // namespace
}  // namespace scanline::cli
