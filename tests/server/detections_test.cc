#include "server/detections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/to_proto.h"
#include "tests/server/doubles.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using testing::NewDetectModel;

std::vector<std::string> Labels(const v1::ActionDetection& person) {
  std::vector<std::string> labels;
  for (const v1::ClassScore& score : person.classes()) labels.push_back(score.label());
  return labels;
}

// Somebody walks to the right from 1 s to 2 s; a second one at 2 s is not in the model's picture.
Reply Walking() {
  Reply reply;
  reply.model = NewDetectModel("m");
  reply.answer.tasks = {.classify = false, .detect = true};
  reply.clip.views = {{.pictures = {0, 1}}, {.pictures = {2, 2}}};
  reply.clip.windows.resize(2);
  reply.clip.sampled = {{.index = 30}, {.index = 40}, {.index = 60}};
  reply.clip.keyframes = {{.seconds = 1, .view = 0, .width = 320, .height = 240},
                          {.seconds = 2, .view = 1, .width = 320, .height = 240}};
  reply.people.all = {{{0.25f, 0.25f, 0.5f, 0.75f, 0.5f}},
                      {{0, 0, 0.125f, 0.25f, 0.9f}, {0.3125f, 0.25f, 0.5625f, 0.75f, 1}}};
  reply.people.place_of_seen = {{0}, {1}};
  reply.people.seen = {{{{1, 1, 2, 3}, 0.5f}}, {{{1, 1, 2, 3}, 1}}};
  reply.prediction.actions = {{{{-1, 2}, {0.125f, 0.375f}}}, {{{3, 1}, {0.75f, 0.0625f}}}};
  return reply;
}

TEST(SetDetections, PeopleInOrderOfTimeWithTheirActionsBestFirst) {
  v1::ClipResult result;
  SetDetections(Walking(), &result);
  ASSERT_EQ(result.detections_size(), 3);
  const v1::ActionDetection& first = result.detections(0);
  EXPECT_EQ(first.keyframe_offset().seconds(), 1);
  EXPECT_EQ(first.box().time_offset().seconds(), 1);
  EXPECT_EQ(first.box().x_min(), 0.25f);
  EXPECT_EQ(first.box().y_max(), 0.75f);
  EXPECT_EQ(first.person_score(), 0.5f);
  EXPECT_EQ(first.track_id(), 0);  // not asked for
  EXPECT_THAT(Labels(first), ElementsAre("round", "bright"));
  EXPECT_EQ(first.classes(0).class_index(), 2);  // row 1 + offset 1
  EXPECT_EQ(first.classes(0).score(), 0.375f);
  EXPECT_EQ(first.classes(0).logit(), 0);  // not asked for
}

TEST(SetDetections, WhomThePictureDoesNotShowHasNoActionsAndTheOthersKeepTheirs) {
  v1::ClipResult result;
  SetDetections(Walking(), &result);
  EXPECT_EQ(result.detections(1).classes_size(), 0);
  EXPECT_EQ(result.detections(1).person_score(), 0.9f);
  EXPECT_THAT(Labels(result.detections(2)), ElementsAre("bright", "round"));
}

TEST(SetDetections, OptionsCutTheListAddLogitsAndLink) {
  Reply reply = Walking();
  reply.answer.top_actions = 1;
  reply.answer.include_logits = true;
  reply.answer.link_tracks = true;
  v1::ClipResult result;
  SetDetections(reply, &result);
  ASSERT_THAT(Labels(result.detections(0)), ElementsAre("round"));
  EXPECT_EQ(result.detections(0).classes(0).logit(), 2);
  EXPECT_EQ(result.detections(0).track_id(), 1);
  EXPECT_EQ(result.detections(1).track_id(), 2);
  EXPECT_EQ(result.detections(2).track_id(), 1);

  reply.answer.top_actions = 0;
  reply.answer.min_action_score = 0.2f;
  result.Clear();
  SetDetections(reply, &result);
  EXPECT_THAT(Labels(result.detections(0)), ElementsAre("round"));
  EXPECT_THAT(Labels(result.detections(2)), ElementsAre("bright"));
}

TEST(SetDetections, TheReportNamesFramesOfViewsThatWereRun) {
  Reply reply = Walking();
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_THAT(result.sampling().frame_indices(), ElementsAre(30, 40, 60, 60));
  EXPECT_EQ(result.sampling().frames_repeated(), 1);
  reply.people.seen[0].clear();
  reply.people.place_of_seen[0].clear();
  result.Clear();
  ToProto(reply, &result);
  EXPECT_EQ(result.detections_size(), 3);
  EXPECT_THAT(result.sampling().frame_indices(), ElementsAre(60, 60));
}

TEST(SetDetections, TheReportNamesEveryLookAlsoWhereNobodyWas) {
  Reply reply = Walking();
  reply.people = {.all = {{}, {}}, .seen = {{}, {}}, .place_of_seen = {{}, {}}};
  reply.prediction.actions = {{}, {}};
  reply.clip.keyframes[0].frame = 35;
  reply.clip.keyframes[1].frame = 35;
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_THAT(result.sampling().keyframe_indices(), ElementsAre(35, 35));
  ASSERT_EQ(result.sampling().keyframe_offsets_size(), 2);
  EXPECT_EQ(result.sampling().keyframe_offsets(1).seconds(), 2);
}

TEST(SetDetections, NobodyIsAnEmptyAnswer) {
  Reply reply = Walking();
  reply.people = {.all = {{}, {}}, .seen = {{}, {}}, .place_of_seen = {{}, {}}};
  reply.prediction.actions = {{}, {}};
  v1::ClipResult result;
  ToProto(reply, &result);
  EXPECT_EQ(result.detections_size(), 0);
  EXPECT_FALSE(result.has_timing() && result.timing().has_find_people());
}

}  // namespace
}  // namespace scanline
