// Where boxes lie: a bright rectangle of known place in clips of every orientation and sample
// aspect ratio, found in the full frame, seen in the model's picture, and told over a socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "server/decode_request.h"
#include "tests/decode/made_clip.h"
#include "tests/server/doubles.h"
#include "tests/server/running_server.h"

namespace scanline {
namespace {

using testing::Call;
using testing::MadeClip;
using testing::NewDetectModel;
using testing::Outcome;
using testing::Running;
using testing::TestSettings;
using testing::WriteMadeClip;

constexpr int kWidth = 160;
constexpr int kHeight = 96;
constexpr int kFrames = 8;
constexpr Box kStored = {64.0 / kWidth, 24.0 / kHeight, 88.0 / kWidth, 60.0 / kHeight};

MadeClip Rectangle() {
  MadeClip clip = {.width = kWidth, .height = kHeight, .frames = kFrames, .rate = kFrames};
  clip.draw = [](int, uint8_t* rgb) {
    for (int y = 24; y < 60; ++y) {
      std::fill(rgb + (y * kWidth + 64) * 3, rgb + (y * kWidth + 88) * 3, uint8_t{255});
    }
  };
  return clip;
}

// The bounds of what is bright.
absl::StatusOr<std::vector<PersonBox>> FindBright(const FullFrame& frame, float) {
  int left = frame.width, top = frame.height, right = 0, bottom = 0;
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      if (frame.rgb[y * frame.stride + x * 3] < 128) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  const auto width = static_cast<float>(frame.width);
  const auto height = static_cast<float>(frame.height);
  return std::vector<PersonBox>{{static_cast<float>(left) / width, static_cast<float>(top) / height,
                                 static_cast<float>(right) / width,
                                 static_cast<float>(bottom) / height, 0.75f}};
}

// `stored` as a turn of `clip` shows it.
Box Displayed(const Box& stored, const std::array<int, 4>& turn) {
  const auto [a, b, c, d] = turn;
  const auto side = [](double p, double q, int of_p, int of_q) {
    const double at = of_p * p + of_q * q;
    return of_p + of_q < 0 ? at + 1 : at;
  };
  const double x0 = side(stored.x_min, stored.y_min, a, c);
  const double x1 = side(stored.x_max, stored.y_max, a, c);
  const double y0 = side(stored.x_min, stored.y_min, b, d);
  const double y1 = side(stored.x_max, stored.y_max, b, d);
  return {std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)};
}

ModelPtr ModelOf(const std::string& name, ResizeRule resize, bool sample_aspect) {
  auto model = NewDetectModel(name, FindBright);
  model->config.frame_spec.resize = resize;
  model->config.frame_spec.size = 96;
  model->config.frame_spec.apply_sample_aspect = sample_aspect;
  model->config.detect->min_score = 0;
  return model;
}

class DetectPlaces : public ::testing::Test {
 protected:
  v1::ClipResult Analyze(const MadeClip& clip, const std::string& model, const Box* given) {
    v1::AnalyzeClipRequest request;
    request.set_content(WriteMadeClip(clip));
    v1::AnalysisSpec& spec = *request.mutable_spec();
    spec.set_model(model);
    spec.add_tasks(v1::TASK_DETECT_ACTIONS);
    spec.mutable_classify()->set_include_logits(true);
    if (given != nullptr) {
      v1::BoundingBox& box = *spec.mutable_detect()->add_proposals();
      box.set_x_min(static_cast<float>(given->x_min));
      box.set_y_min(static_cast<float>(given->y_min));
      box.set_x_max(static_cast<float>(given->x_max));
      box.set_y_max(static_cast<float>(given->y_max));
    }
    const Outcome outcome = Call(server_, request);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    return outcome.result;
  }

  // That the only person is where the rectangle is shown, and that the model's picture is bright
  // there and dark elsewhere.
  void Check(const v1::ClipResult& result, const Box& truth, float person_score) {
    ASSERT_EQ(result.detections_size(), 1);
    const v1::ActionDetection& found = result.detections(0);
    EXPECT_EQ(found.person_score(), person_score);
    EXPECT_NEAR(found.box().x_min(), truth.x_min, 0.01);
    EXPECT_NEAR(found.box().y_min(), truth.y_min, 0.01);
    EXPECT_NEAR(found.box().x_max(), truth.x_max, 0.01);
    EXPECT_NEAR(found.box().y_max(), truth.y_max, 0.01);
    ASSERT_EQ(found.classes_size(), 2);
    EXPECT_EQ(found.classes(0).label(), "bright");
    EXPECT_GT(found.classes(0).logit(), 0.9);
    EXPECT_LT(found.classes(1).logit(), 0.03);
    EXPECT_LE(result.usage().frames_decoded(), static_cast<uint32_t>(kFrames));
  }

  const std::vector<ModelPtr> models_ = {
      ModelOf("square", ResizeRule::kCentreSquareArea, false),
      ModelOf("square-aspect", ResizeRule::kCentreSquareArea, true),
      ModelOf("crop", ResizeRule::kShortSideBilinear, false),
      ModelOf("whole", ResizeRule::kSquareBicubic, true),
      ModelOf("padded", ResizeRule::kShortSide256Pad16, true)};
  Running server_{TestSettings(), models_,
                  [](const Request& request) { return DecodeRequest(request, DecodeLimits()); }};
};

TEST_F(DetectPlaces, BoxesComeBackWhereTheRectangleIsShown) {
  for (const std::array<int, 4> turn :
       {std::array{1, 0, 0, 1}, std::array{0, 1, -1, 0}, std::array{-1, 0, 0, -1},
        std::array{0, -1, 1, 0}, std::array{-1, 0, 0, 1}, std::array{1, 0, 0, -1},
        std::array{0, 1, 1, 0}, std::array{0, -1, -1, 0}}) {
    for (const std::array<int, 2> aspect : {std::array{1, 1}, std::array{4, 3}, std::array{2, 3}}) {
      for (const ModelPtr& model : models_) {
        SCOPED_TRACE(absl::StrCat(model->name(), " turn ", turn[0], turn[1], turn[2], turn[3],
                                  " aspect ", aspect[0], ":", aspect[1]));
        MadeClip clip = Rectangle();
        clip.turn = turn;
        clip.sample_aspect = aspect;
        const Box truth = Displayed(kStored, turn);
        Check(Analyze(clip, model->name(), nullptr), truth, 0.75f);
        Check(Analyze(clip, model->name(), &truth), truth, 1);
      }
    }
  }
}

TEST_F(DetectPlaces, OfFramesThatAreSentAsSuch) {
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->add_tasks(v1::TASK_DETECT_ACTIONS);
  request.mutable_spec()->mutable_classify()->set_include_logits(true);
  v1::RawFrames& frames = *request.mutable_frames();
  frames.set_count(2);
  frames.set_width(kWidth);
  frames.set_height(kHeight);
  std::string rgb(size_t{2} * kWidth * kHeight * 3, '\0');
  for (int i = 0; i < 2; ++i) {
    Rectangle().draw(i, reinterpret_cast<uint8_t*>(rgb.data()) + i * kWidth * kHeight * 3);
  }
  frames.set_rgb(rgb);
  for (const int64_t at : {3, 4}) frames.add_offsets()->set_seconds(at);
  const Outcome outcome = Call(server_, request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  Check(outcome.result, kStored, 0.75f);
  EXPECT_EQ(outcome.result.detections(0).keyframe_offset().seconds(), 4);  // box_frame 1
  EXPECT_EQ(outcome.result.sampling().source_duration().seconds(), 2);
  v1::BoundingBox* const box = request.mutable_spec()->mutable_detect()->add_proposals();
  box->set_x_max(0.5f);
  box->set_y_max(0.5f);
  box->mutable_time_offset()->set_seconds(4);
  EXPECT_TRUE(Call(server_, request).status.ok());
  for (const auto& [seconds, reason] :
       {std::pair(3, "FIELD_INVALID"), std::pair(2, "SEGMENT_OUT_OF_RANGE"),
        std::pair(99, "SEGMENT_OUT_OF_RANGE")}) {
    box->mutable_time_offset()->set_seconds(seconds);
    EXPECT_EQ(testing::ReasonIn(Call(server_, request).status), reason) << seconds;
  }
}

TEST_F(DetectPlaces, OfATensorBoxesAreOfItsPicture) {
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->add_tasks(v1::TASK_DETECT_ACTIONS);
  v1::ClipTensor& tensor = *request.mutable_tensor();
  tensor.set_frames(2);
  tensor.set_width(96);
  tensor.set_height(96);
  tensor.set_values(std::string(sizeof(float) * 3 * 2 * 96 * 96, '\0'));
  EXPECT_EQ(testing::ReasonIn(Call(server_, request).status), "FIELD_INVALID");  // nobody to find
}

}  // namespace
}  // namespace scanline
