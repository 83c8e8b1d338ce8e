#include "client/cli/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/spec.h"

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Add(double seconds, float x, uint32_t track, const char* label, v1::ClipResult& result) {
  v1::ActionDetection* const d = result.add_detections();
  SetSeconds(seconds, d->mutable_keyframe_offset());
  d->mutable_box()->set_x_min(x);
  d->mutable_box()->set_x_max(x + 0.25F);
  d->mutable_box()->set_y_max(0.5F);
  d->set_person_score(0.5F);
  d->set_track_id(track);
  if (*label == '\0') return;
  d->add_classes()->set_label(label);
  d->mutable_classes(0)->set_class_index(3);
  d->mutable_classes(0)->set_score(0.25F);
}

TEST(AnnotateDetections, ShowsABoxRoundItsKeyframe) {
  v1::ClipResult result;
  result.set_model("models/m@1");
  Add(0, 0.1F, 0, "walk", result);
  Add(2, 0.2F, 0, "", result);
  const Annotations all = AnnotateDetections(result, 0);
  ASSERT_THAT(all.overlay.boxes, SizeIs(2));
  EXPECT_EQ(all.overlay.boxes[0].start, 0);
  EXPECT_EQ(all.overlay.boxes[0].end, 0.5);
  EXPECT_THAT(all.overlay.boxes[0].lines, ElementsAre("walk 0.25"));
  EXPECT_EQ(all.overlay.boxes[1].start, 1.5);
  EXPECT_EQ(all.overlay.boxes[1].end, 2.5);
  EXPECT_THAT(all.overlay.boxes[1].lines, ElementsAre("person 0.50"));
  EXPECT_NE(all.overlay.boxes[0].color, all.overlay.boxes[1].color);
  EXPECT_EQ(AnnotateDetections(result, 0.25).overlay.boxes[1].start, 1.875);
  // What was not looked at is not shown for minutes.
  EXPECT_EQ(AnnotateDetections(result, 60).overlay.boxes[1].end, 3);

  ASSERT_THAT(all.moments, SizeIs(2));
  EXPECT_EQ(all.moments[1].seconds, 2);
  EXPECT_THAT(all.moments[0].lines, ElementsAre("0.00 s, 1 person", "1 walk 0.25"));
  EXPECT_THAT(all.moments[1].lines, ElementsAre("2.00 s, 1 person", "1 person 0.50"));
  ASSERT_THAT(all.moments[1].boxes, SizeIs(1));
  EXPECT_THAT(all.moments[1].boxes[0].lines, ElementsAre("1"));
  EXPECT_EQ(all.subtitle, "2 boxes at 2 moments, m@1");
  ASSERT_THAT(all.found, SizeIs(2));
  EXPECT_EQ(all.found[0].classes[0].id, 3);
  EXPECT_EQ(all.found[1].person_score, 0.5);
}

TEST(AnnotateDetections, MovesALinkedPersonUnlessTheyWereLost) {
  v1::ClipResult result;
  Add(1, 0.125F, 2, "walk", result);
  Add(1, 0.5F, 1, "run", result);
  Add(2, 0.25F, 2, "walk", result);
  Add(5, 0.625F, 2, "sit", result);
  const Annotations all = AnnotateDetections(result, 1);
  std::vector<render::OverlayBox> second;
  for (const render::OverlayBox& box : all.overlay.boxes) {
    if (box.color == render::PaletteColor(1)) second.push_back(box);
  }
  // Before the first look, on the way, after the second, before and after the third.
  ASSERT_THAT(second, SizeIs(5));
  const double times[][2] = {{0.5, 1}, {1, 2}, {2, 2.5}, {4.5, 5}, {5, 5.5}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(second[i].start, times[i][0]) << i;
    EXPECT_EQ(second[i].end, times[i][1]) << i;
    EXPECT_EQ(second[i].moves_to.has_value(), i == 1) << i;
  }
  EXPECT_EQ(second[1].moves_to->x0, 0.25);
  EXPECT_THAT(second[4].lines, ElementsAre("#2 sit 0.25"));
}

TEST(AnnotateDetections, KeepsTheLooksThatFoundNobody) {
  v1::ClipResult result;
  Add(1, 0.125F, 0, "walk", result);
  for (const int second : {1, 2}) {
    SetSeconds(second, result.mutable_sampling()->add_keyframe_offsets());
    result.mutable_sampling()->add_keyframe_indices(static_cast<uint32_t>(30 * second));
  }
  const Annotations all = AnnotateDetections(result, 1);
  ASSERT_THAT(all.looks, SizeIs(2));
  EXPECT_EQ(all.looks[1].seconds, 2);
  EXPECT_EQ(all.looks[1].frame_index, 60);
  EXPECT_THAT(all.moments, SizeIs(1));
}

TEST(AnnotateDetections, LeavesPeopleInACrowdTheirBestActionAlone) {
  v1::ClipResult result;
  for (int i = 0; i < 10; ++i) Add(1, 0.05F * static_cast<float>(i), 0, "walk", result);
  for (auto& d : *result.mutable_detections()) {
    d.add_classes()->set_label("talk");
    d.mutable_classes(1)->set_score(0.125F);
    d.add_classes()->set_label("shown as 0.00");
  }
  const Annotations all = AnnotateDetections(result, 0);
  EXPECT_THAT(all.overlay.boxes[9].lines, ElementsAre("walk 0.25"));
  ASSERT_THAT(all.moments, SizeIs(1));
  EXPECT_THAT(all.moments[0].boxes, SizeIs(10));
  ASSERT_THAT(all.moments[0].lines, SizeIs(10));
  EXPECT_EQ(all.moments[0].lines[0], "1.00 s, 10 people");
  EXPECT_EQ(all.moments[0].lines[8], "8 walk 0.25, talk 0.12");
  EXPECT_EQ(all.moments[0].lines[9], "and 2 more");
}

TEST(AnnotateDetections, ThinsTheSheetNotTheRest) {
  v1::ClipResult result;
  for (int i = 0; i < 500; ++i) Add(i, 0.1F, 0, "walk", result);
  const Annotations all = AnnotateDetections(result, 1);
  EXPECT_THAT(all.moments, SizeIs(48));
  EXPECT_EQ(all.moments[47].seconds, 489);
  EXPECT_THAT(all.overlay.boxes, SizeIs(500));
  EXPECT_THAT(all.found, SizeIs(500));
}

TEST(AnnotateDetections, HasAPictureWhereNobodyIs) {
  const Annotations all = AnnotateDetections({}, 0);
  ASSERT_THAT(all.moments, SizeIs(1));
  EXPECT_THAT(all.moments[0].lines, ElementsAre("nobody was found"));
  EXPECT_THAT(all.overlay.boxes, IsEmpty());
}

void AddWindow(double start, double end, float walk, v1::ClipResult& result) {
  v1::WindowResult* const window = result.add_windows();
  SetSeconds(start, window->mutable_start_offset());
  SetSeconds(end, window->mutable_end_offset());
  window->add_classes()->set_label(walk > 0 ? "walk" : "run");
  window->mutable_classes(0)->set_score(walk > 0 ? walk : 0.5F);
}

TEST(AnnotateLabels, GivesTheTimeToTheWindowWhoseMiddleIsNearest) {
  v1::ClipResult result;
  AddWindow(0, 2, 0.75F, result);
  AddWindow(1, 3, 0.25F, result);
  AddWindow(4, 6, 0, result);
  const Annotations all = AnnotateLabels(result);
  ASSERT_THAT(all.overlay.captions, SizeIs(3));
  const double times[][2] = {{0, 1.5}, {1.5, 3.5}, {3.5, 6}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all.overlay.captions[i].start, times[i][0]);
    EXPECT_EQ(all.overlay.captions[i].end, times[i][1]);
  }
  EXPECT_THAT(all.overlay.captions[2].lines, ElementsAre("run 0.50"));
  EXPECT_THAT(all.moments[1].lines, ElementsAre("1.00 to 3.00 s", "walk 0.25"));
  ASSERT_THAT(all.chart, SizeIs(2));
  EXPECT_EQ(all.chart[0].label, "walk");
  EXPECT_THAT(all.chart[0].points,
              ElementsAre(std::pair(1.0, 0.75), std::pair(2.0, 0.25), std::pair(5.0, 0.0)));
  EXPECT_THAT(all.found, IsEmpty());
}

TEST(AnnotateLabels, ShowsTheClipsLabelsAllTheTime) {
  v1::ClipResult result;
  result.set_model("models/m@1");
  result.add_classes()->set_class_index(7);
  result.mutable_classes(0)->set_score(0.5F);
  SetSeconds(3.5, result.mutable_sampling()->mutable_source_duration());
  SetSeconds(0.25, result.mutable_sampling()->add_frame_offsets());
  const Annotations all = AnnotateLabels(result);
  ASSERT_THAT(all.overlay.captions, SizeIs(1));
  EXPECT_EQ(all.overlay.captions[0].end, 3.5);
  EXPECT_THAT(all.overlay.captions[0].lines, ElementsAre("#7 0.50"));
  EXPECT_THAT(all.moments[0].lines, ElementsAre("0.25 s"));
  EXPECT_EQ(all.subtitle, "#7 0.50, m@1");
  // Nothing but the model's name is known.
  EXPECT_THAT(AnnotateLabels({}).moments, SizeIs(1));
}

}  // namespace
}  // namespace scanline::cli
