#include "server/read_detect.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NewDetectModel;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kBox[] = "proposals { x_min: 0.125 y_min: 0.25 x_max: 0.5 y_max: 1";

absl::StatusOr<std::vector<PersonBox>> Nobody(const FullFrame&, float) {
  return std::vector<PersonBox>();
}

class ReadDetectTest : public ::testing::Test {
 protected:
  absl::StatusOr<Request> Read(const std::string& text) {
    v1::AnalyzeClipRequest message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    return FromProto(message, models_, {.max_boxes = 3}, Cancel());
  }
  // With the task and these options.
  absl::StatusOr<Request> ReadOptions(const std::string& options, const std::string& rest = "") {
    return Read("content: \"x\" spec { tasks: TASK_DETECT_ACTIONS " + rest + " detect { " +
                options + " } }");
  }

  ModelTable models_{
      {NewDetectModel("finds", Nobody), NewDetectModel("blind"), testing::MakeModel("plain")}};
};

TEST_F(ReadDetectTest, WithoutBoxesPeopleAreFoundAtTheModelsKeyframes) {
  const auto request = ReadOptions("");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_TRUE(request->people.find);
  EXPECT_TRUE(request->answer.tasks.detect);
  EXPECT_FLOAT_EQ(request->answer.min_action_score, 0.1f);  // the model's own
  EXPECT_EQ(request->answer.top_actions, 0);
  const auto& keyframes = request->frame_spec.sampling.keyframes;
  ASSERT_TRUE(keyframes.has_value());
  EXPECT_EQ(keyframes->interval_seconds, 1);
  EXPECT_THAT(keyframes->seconds, IsEmpty());
  EXPECT_TRUE(keyframes->show);
  EXPECT_TRUE(keyframes->alone);
  EXPECT_EQ(keyframes->box_frame, 1);
}

TEST_F(ReadDetectTest, OptionsAreTaken) {
  const auto request = ReadOptions(
      "keyframe_interval { nanos: 250000000 } min_score: 0.5 top_k: 3 min_person_score: 0.75 "
      "link_tracks: true",
      "tasks: TASK_CLASSIFY");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->answer.min_action_score, 0.5f);
  EXPECT_EQ(request->answer.top_actions, 3);
  EXPECT_EQ(request->people.min_score, 0.75f);
  EXPECT_TRUE(request->answer.link_tracks);
  EXPECT_EQ(request->frame_spec.sampling.keyframes->interval_seconds, 0.25);
  EXPECT_FALSE(request->frame_spec.sampling.keyframes->alone);  // classes have their windows
}

TEST_F(ReadDetectTest, TimesOfBoxesAreTheKeyframes) {
  const std::string box(kBox);
  const auto request =
      ReadOptions(box + " time_offset { seconds: 3 } } " + box + " time_offset { seconds: 1 } } " +
                  box + " time_offset { seconds: 3 } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->people.find);
  EXPECT_FALSE(request->frame_spec.sampling.keyframes->show);
  EXPECT_THAT(request->frame_spec.sampling.keyframes->seconds, ElementsAre(1, 3));
  EXPECT_THAT(request->people.boxes, ElementsAre(SizeIs(1), SizeIs(2)));
  EXPECT_EQ(request->people.boxes[0][0], (Box{0.125, 0.25, 0.5, 1}));
}

TEST_F(ReadDetectTest, BoxesWithoutTimesCountAtEveryKeyframe) {
  const std::string box = std::string(kBox) + " } ";
  const auto request = ReadOptions(box + box);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_THAT(request->frame_spec.sampling.keyframes->seconds, IsEmpty());
  EXPECT_THAT(request->people.boxes, ElementsAre(SizeIs(2)));
}

TEST_F(ReadDetectTest, WithTheRuleAvaTheKeyframeOfFramesIsInTheMiddle) {
  auto ava = NewDetectModel("ava", Nobody);
  ava->config.frame_spec.sampling.rule = SamplingRule::kAva;
  ava->config.frame_spec.sampling.frames = 16;
  ava->config.detect->box_frame = 0;
  models_ = ModelTable({ava});
  const auto request = ReadOptions("");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->frame_spec.sampling.keyframes->box_frame, 8);
}

struct Wrong {
  const char* options;
  const char* field;
};

TEST_F(ReadDetectTest, WhatCannotBeMeantIsNamed) {
  const std::string good = std::string(kBox) + " time_offset { seconds: 1 } } ";
  for (const auto& [options, field] : {
           Wrong{"keyframe_interval { nanos: 40000000 }", "spec.detect.keyframe_interval"},
           Wrong{"keyframe_interval { seconds: 3601 }", "spec.detect.keyframe_interval"},
           Wrong{"keyframe_interval { seconds: -1 }", "spec.detect.keyframe_interval"},
           Wrong{"min_score: 1.5", "spec.detect.min_score"},
           Wrong{"min_score: nan", "spec.detect.min_score"},
           Wrong{"min_person_score: -0.5", "spec.detect.min_person_score"},
           Wrong{"GOOD proposals { x_min: nan x_max: 1 y_max: 1 time_offset {} }",
                 "spec.detect.proposals[1].x_min"},
           Wrong{"GOOD proposals { x_max: 1 y_max: inf time_offset {} }",
                 "spec.detect.proposals[1].y_max"},
           Wrong{"proposals { x_min: 0.5 x_max: 0.25 y_max: 1 }", "spec.detect.proposals[0].x_max"},
           Wrong{"proposals { x_max: 1 y_min: 0.5 y_max: 0.5 }", "spec.detect.proposals[0].y_max"},
           Wrong{"proposals { x_min: -0.125 x_max: 1 y_max: 1 }", "spec.detect.proposals[0].x_min"},
           Wrong{"proposals { x_max: 1 y_max: 1.5 }", "spec.detect.proposals[0].y_max"},
           Wrong{"proposals { }", "spec.detect.proposals[0].x_max"},
           Wrong{"proposals { x_max: 1 y_max: 1 time_offset { seconds: -1 } }",
                 "spec.detect.proposals[0].time_offset"},
           Wrong{"GOOD proposals { x_max: 1 y_max: 1 }", "spec.detect.proposals[1].time_offset"},
           Wrong{"GOOD GOOD GOOD GOOD", "spec.detect.proposals"},
       }) {
    std::string text = options;
    for (size_t at; (at = text.find("GOOD")) != std::string::npos;) text.replace(at, 4, good);
    const auto request = ReadOptions(text);
    EXPECT_EQ(ReasonOf(request.status()), Reason::kFieldInvalid) << text;
    EXPECT_THAT(MetadataOf(request.status()), Contains(Pair("field", field))) << text;
  }
}

TEST_F(ReadDetectTest, SeveralSpatialViewsHaveNoBoxes) {
  const auto request = ReadOptions("", "sampling { spatial_views: 3 }");
  EXPECT_EQ(ReasonOf(request.status()), Reason::kFieldInvalid);
  EXPECT_THAT(MetadataOf(request.status()), Contains(Pair("field", "spec.sampling.spatial_views")));
}

TEST_F(ReadDetectTest, WithoutAFinderBoxesAreNeeded) {
  const auto blind = ReadOptions("", "model: \"models/blind\"");
  EXPECT_EQ(ReasonOf(blind.status()), Reason::kTaskUnsupported);
  EXPECT_THAT(std::string(blind.status().message()), HasSubstr("./dev setup"));
  const auto given = ReadOptions(std::string(kBox) + " }", "model: \"models/blind\"");
  EXPECT_TRUE(given.ok()) << given.status();
}

TEST_F(ReadDetectTest, AModelWithoutABoxHeadIsNotServedForIt) {
  const auto request = ReadOptions("", "model: \"models/plain\"");
  EXPECT_EQ(ReasonOf(request.status()), Reason::kTaskUnsupported);
}

TEST_F(ReadDetectTest, WithoutTheTaskNothingIsRead) {
  const auto request = Read("content: \"x\" spec { tasks: TASK_CLASSIFY detect { min_score: 9 } }");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->frame_spec.sampling.keyframes.has_value());
}

}  // namespace
}  // namespace scanline
