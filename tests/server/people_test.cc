#include "server/people.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Box kLeft = {0, 0, 0.25, 0.5};
constexpr Box kRight = {0.5, 0.25, 1, 1};

// Two keyframes, of frames twice as long as high, each with a view of its own behind one window's.
Clip TwoKeyframes() {
  Clip clip;
  clip.views.resize(3);
  clip.views[1].window = clip.views[2].window = -1;
  clip.keyframes = {{.seconds = 1, .frame = 30, .view = 1, .width = 200, .height = 100},
                    {.seconds = 2, .frame = 60, .view = 2, .width = 200, .height = 100}};
  return clip;
}

TEST(GroupByTime, GivesEachMomentOnceInOrder) {
  const Moments moments =
      GroupByTime(std::vector<TimedBox>{{2, kLeft}, {0.5, kRight}, {2, kRight}});
  EXPECT_THAT(moments.seconds, ElementsAre(0.5, 2));
  EXPECT_THAT(moments.boxes, ElementsAre(ElementsAre(kRight), ElementsAre(kLeft, kRight)));
}

TEST(PeopleOf, OneListCountsForEveryKeyframe) {
  const PeopleSpec spec = {.boxes = {{kLeft, kRight}}, .max_boxes = 4};
  const auto people = PeopleOf(spec, TwoKeyframes(), {});
  ASSERT_TRUE(people.ok()) << people.status();
  ASSERT_THAT(*people, ElementsAre(SizeIs(2), SizeIs(2)));
  EXPECT_EQ((*people)[1][1].x_min, 0.5f);
  EXPECT_EQ((*people)[1][1].score, 1);
}

TEST(PeopleOf, RefusesMoreThanTheLimitOverAllKeyframes) {
  const PeopleSpec spec = {.boxes = {{kLeft, kRight}}, .max_boxes = 3};
  const auto people = PeopleOf(spec, TwoKeyframes(), {});
  EXPECT_EQ(ReasonOf(people.status()), Reason::kFieldInvalid);
  EXPECT_THAT(std::string(people.status().message()),
              HasSubstr("up to 3 boxes over all keyframes, found 2 at each of 2"));
}

TEST(PeopleOf, ListsOfMomentsAreThoseOfTheirKeyframes) {
  const PeopleSpec spec = {.boxes = {{kLeft}, {kRight, kRight}}};
  const auto people = PeopleOf(spec, TwoKeyframes(), {});
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_THAT(*people, ElementsAre(SizeIs(1), SizeIs(2)));
  Clip other = TwoKeyframes();
  other.keyframes.resize(1);
  EXPECT_EQ(ReasonOf(PeopleOf(spec, other, {}).status()), Reason::kInternal);
}

TEST(PeopleOf, ThoseFoundAreTaken) {
  const PeopleSpec spec = {.find = true};
  const auto people = PeopleOf(spec, TwoKeyframes(), {{}, {{0.1f, 0.2f, 0.3f, 0.4f, 0.9f}}});
  ASSERT_TRUE(people.ok()) << people.status();
  EXPECT_THAT(*people, ElementsAre(IsEmpty(), SizeIs(1)));
  EXPECT_EQ((*people)[1][0].score, 0.9f);
}

TEST(PlacePeople, KeepsThePlacesOfThoseWhomTheSquareInTheMiddleShows) {
  const FrameSpec square = {.resize = ResizeRule::kCentreSquareArea, .size = 50};
  const PersonBox outside = {0, 0, 0.2f, 1, 0.8f};
  const PersonBox across = {0.2f, 0.5f, 0.5f, 1, 0.7f};
  const ClipPeople people =
      PlacePeople({{outside, across}, {outside}}, TwoKeyframes(), square, /*inclusive=*/false);
  EXPECT_THAT(people.all, ElementsAre(SizeIs(2), SizeIs(1)));
  EXPECT_THAT(people.place_of_seen, ElementsAre(ElementsAre(1), IsEmpty()));
  ASSERT_THAT(people.seen, ElementsAre(SizeIs(1), IsEmpty()));
  EXPECT_EQ(people.seen[0][0].box, (Box{0, 25, 25, 50}));
  EXPECT_EQ(people.seen[0][0].score, 0.7f);
}

TEST(ViewsRun, WindowsForTheirTasksAndKeyframesWhereSomebodyIs) {
  const Clip clip = TwoKeyframes();
  const TaskSet detect = {.classify = false, .detect = true};
  const TaskSet both = {.classify = true, .detect = true};
  ClipPeople people;
  EXPECT_THAT(ViewsRun(clip, both, people), ElementsAre(true, false, false));
  people.seen = {{}, {{kLeft, 1}}};
  EXPECT_THAT(ViewsRun(clip, both, people), ElementsAre(true, false, true));
  EXPECT_THAT(ViewsRun(clip, detect, people), ElementsAre(false, false, true));
}

}  // namespace
}  // namespace scanline
