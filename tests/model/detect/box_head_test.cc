// The head of detections against the reference's numbers (tests/data/reference/README.md,
// ava_roi_head), and what boxes at borders become.
#include "model/detect/box_head.h"

#include <gtest/gtest.h>

#include "model/detect/roi_align.h"
#include "model/tokens.h"
#include "tests/model/reference.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 1e-5;  // As the vectors' README says; relative to the largest.

DetectConfig AvaConfig() {
  DetectConfig config;
  config.labels.resize(80);
  config.inclusive = true;
  config.enlarge = {0.1, 0.05};
  return config;
}

// One of the two cases: a feature map in time and boxes on it.
class RoiHead : public ::testing::TestWithParam<std::string> {
 protected:
  RoiHead() {
    const StoredTensor& stored = At("features_bcthw");
    const std::vector<int64_t>& s = stored.shape;
    backbone_.embed_dim = static_cast<int>(s[1]);
    backbone_.tubelet = 1;
    backbone_.frames = static_cast<int>(s[2]);
    backbone_.height = static_cast<int>(s[3]) * backbone_.patch;
    backbone_.width = static_cast<int>(s[4]) * backbone_.patch;
    features_ = Floats(stored);
    weights_.Add("box_head.weight", {80, s[1]}, Floats(At("head_weight")));
    weights_.Add("box_head.bias", {80}, Floats(At("head_bias")));
    const auto size = At("image_wh").values<int64_t>();
    area_ = {static_cast<int>(size[0]), static_cast<int>(size[1])};
  }

  const StoredTensor& At(const std::string& name) { return file_.at(GetParam() + "." + name); }
  std::vector<float> Of(const std::string& name) { return Floats(At(name)); }

  // The features of one picture as the tokens that they came from; cls is not a number, so that
  // nothing can read it.
  std::vector<float> Tokens(int64_t picture) const {
    const int64_t dim = backbone_.embed_dim, cells = backbone_.cells(), steps = backbone_.steps();
    std::vector<float> tokens(static_cast<size_t>(backbone_.tokens() * dim), std::nanf(""));
    for (int64_t i = 0; i < dim; ++i) {
      for (int64_t t = 0; t < steps; ++t) {
        for (int64_t cell = 0; cell < cells; ++cell) {
          const int row = TokenRow(OutputOrder(backbone_.scan_order), static_cast<int>(t),
                                   static_cast<int>(cell), backbone_);
          tokens[row * dim + i] = features_[((picture * dim + i) * steps + t) * cells + cell];
        }
      }
    }
    return tokens;
  }

  Box BoxAt(const std::vector<float>& rows, size_t i) const {
    return {rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]};
  }

  SafetensorsFile file_ = ReadSafetensors(ReferenceDir() + "/ava_roi_head.safetensors");
  BackboneConfig backbone_;
  Weights weights_;
  std::vector<float> features_;
  PictureArea area_;
};

TEST_P(RoiHead, BoxesAreEnlargedAsTheReferenceDoes) {
  const auto boxes = Of("boxes");
  std::vector<double> got;
  for (size_t i = 0; i < boxes.size() / 4; ++i) {
    const Box box = EnlargeBox(BoxAt(boxes, i), AvaConfig(), area_);
    got.insert(got.end(), {box.x_min, box.y_min, box.x_max, box.y_max});
  }
  EXPECT_LE(RelMax(got, Of("extended")), 1e-6);
}

TEST_P(RoiHead, CellsMatch) {
  const auto boxes = Of("extended");
  const auto batch = At("box_batch").values<int64_t>();
  const int dim = backbone_.embed_dim;
  std::vector<float> got;
  for (size_t i = 0; i < batch.size(); ++i) {
    std::vector<float> map(static_cast<size_t>(backbone_.cells()) * dim);
    FeaturesOverTime(Tokens(batch[i]).data(), backbone_, DetectConfig::Feature::kAvg, map.data());
    std::vector<float> cells(size_t{49} * dim);
    const Roi roi = {boxes[4 * i] / 16, boxes[4 * i + 1] / 16, boxes[4 * i + 2] / 16,
                     boxes[4 * i + 3] / 16};
    RoiAlign({map.data(), backbone_.rows(), backbone_.columns(), dim}, roi, {}, cells.data());
    for (int c = 0; c < dim; ++c) {
      for (int cell = 0; cell < 49; ++cell) got.push_back(cells[cell * dim + c]);
    }
  }
  EXPECT_LE(RelMax(got, Of("roi")), kTolerance);
}

TEST_P(RoiHead, LogitsAndScoresMatchInEveryScanOrder) {
  const auto boxes = Of("boxes");
  const auto batch = At("box_batch").values<int64_t>();
  const auto people = Of("box_scores");
  for (const ScanOrder order :
       {ScanOrder::kSpatialFirst, ScanOrder::kTemporalFirst, ScanOrder::kAlternating}) {
    backbone_.scan_order = order;
    BoxHead head(AvaConfig(), backbone_.embed_dim, weights_);
    std::vector<float> logits;
    std::vector<float> scores;
    for (size_t i = 0; i < batch.size(); ++i) {
      head.See(Tokens(batch[i]).data(), backbone_);
      const auto row = head.Logits(BoxAt(boxes, i), area_);
      const auto scored = ActionScores(row, ScoreKind::kSigmoid, people[i]);
      logits.insert(logits.end(), row.begin(), row.end());
      scores.insert(scores.end(), scored.begin(), scored.end());
    }
    EXPECT_LE(RelMax(logits, Of("logits")), kTolerance);
    EXPECT_LE(RelMax(scores, Of("scores")), kTolerance);
  }
}

TEST_P(RoiHead, ABoxHasTheSameBitsAfterAnyOther) {
  const auto boxes = Of("boxes");
  const auto tokens = Tokens(0);
  BoxHead head(AvaConfig(), backbone_.embed_dim, weights_);
  head.See(tokens.data(), backbone_);
  const auto first = head.Logits(BoxAt(boxes, 0), area_);
  head.Logits(BoxAt(boxes, 1), area_);
  EXPECT_EQ(head.Logits(BoxAt(boxes, 0), area_), first);
}

INSTANTIATE_TEST_SUITE_P(Ava, RoiHead, ::testing::Values("sq", "wide"),
                         [](const auto& info) { return info.param; });

TEST(EnlargeBox, GrowsByHalfTheShareOnEachSideAndStopsAtTheBorder) {
  DetectConfig config;
  config.enlarge = {0.2, 0.4};
  EXPECT_EQ(EnlargeBox({40, 10, 60, 20}, config, {100, 21}), (Box{38, 8, 62, 21}));
  config.inclusive = true;  // 21 and 11 pixels
  const Box box = EnlargeBox({40, 10, 60, 20}, config, {100, 21});
  EXPECT_DOUBLE_EQ(box.x_min, 37.9);
  EXPECT_DOUBLE_EQ(box.y_min, 7.8);
  EXPECT_DOUBLE_EQ(box.x_max, 62.1);
  EXPECT_DOUBLE_EQ(box.y_max, 20);
}

TEST(FeaturesOverTime, DeltaIsTheLaterHalfMinusTheEarlierWithoutTheMiddle) {
  BackboneConfig backbone;
  backbone.embed_dim = 1;
  backbone.frames = 5;
  backbone.patch = 16;
  backbone.height = 16;
  backbone.width = 32;
  // Steps 1 2 7 10 20 of cell 0; cell 1 stays 3.
  const std::vector<float> tokens = {-1, 1, 3, 2, 3, 7, 3, 10, 3, 20, 3};
  std::vector<float> out(4);
  FeaturesOverTime(tokens.data(), backbone, DetectConfig::Feature::kAvgDelta, out.data());
  EXPECT_EQ(out, (std::vector<float>{8, 13.5, 3, 0}));
}

TEST(ActionScores, AreTimesThePerson) {
  const auto sigmoid = ActionScores({0, 100}, ScoreKind::kSigmoid, 0.5F);
  EXPECT_FLOAT_EQ(sigmoid[0], 0.25F);
  EXPECT_FLOAT_EQ(sigmoid[1], 0.5F);
  const auto softmax = ActionScores({1000, 1000}, ScoreKind::kSoftmax, 1);
  EXPECT_FLOAT_EQ(softmax[0], 0.5F);
}

}  // namespace
}  // namespace scanline::testing
