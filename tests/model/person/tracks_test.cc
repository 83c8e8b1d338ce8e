#include "model/person/tracks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Somebody 0.2 high and 0.1 wide, whose centre is there.
PersonBox At(double x, double y, float score = 0.9F) {
  return {static_cast<float>(x - 0.05), static_cast<float>(y - 0.1), static_cast<float>(x + 0.05),
          static_cast<float>(y + 0.1), score};
}

TEST(TrackLinker, NumbersPeopleFromOne) {
  TrackLinker linker({});
  EXPECT_THAT(linker.Link(0, {At(0.2, 0.5), At(0.8, 0.5)}), ElementsAre(1, 2));
  EXPECT_THAT(linker.Link(1, {}), IsEmpty());
}

TEST(TrackLinker, FollowsWalkersWhateverTheirOrder) {
  TrackLinker linker({});
  linker.Link(0, {At(0.1, 0.5), At(0.9, 0.4)});
  EXPECT_THAT(linker.Link(1, {At(0.75, 0.4), At(0.25, 0.5)}), ElementsAre(2, 1));
  EXPECT_THAT(linker.Link(2, {At(0.4, 0.5), At(0.6, 0.4)}), ElementsAre(1, 2));
}

TEST(TrackLinker, PeopleWhoPassEachOtherKeepTheirIds) {
  TrackLinker linker({});
  linker.Link(0, {At(0.3, 0.5), At(0.75, 0.52)});
  linker.Link(1, {At(0.45, 0.5), At(0.6, 0.52)});
  // They have passed: the nearest box of each is the other one's.
  EXPECT_THAT(linker.Link(2, {At(0.6, 0.5), At(0.45, 0.52)}), ElementsAre(1, 2));
  EXPECT_THAT(linker.Link(3, {At(0.3, 0.52), At(0.75, 0.5)}), ElementsAre(2, 1));
}

TEST(TrackLinker, SomebodyMissedOnceIsFoundAgain) {
  TrackLinker linker({});
  linker.Link(0, {At(0.1, 0.5)});
  linker.Link(1, {At(0.25, 0.5)});
  linker.Link(2, {});
  EXPECT_THAT(linker.Link(3, {At(0.55, 0.5)}), ElementsAre(1));
}

TEST(TrackLinker, AfterALongGapItIsSomebodyNew) {
  TrackLinker linker({.max_gap_seconds = 2});
  linker.Link(0, {At(0.5, 0.5)});
  EXPECT_THAT(linker.Link(2, {At(0.5, 0.5)}), ElementsAre(1));
  EXPECT_THAT(linker.Link(4.1, {At(0.5, 0.5)}), ElementsAre(2));
}

TEST(TrackLinker, NobodyJumpsAcrossThePictureOrChangesSize) {
  TrackLinker linker({});
  linker.Link(0, {At(0.1, 0.5)});
  EXPECT_THAT(linker.Link(1, {At(0.9, 0.5)}), ElementsAre(2));
  const PersonBox small = {0.88F, 0.46F, 0.92F, 0.54F, 0.9F};
  EXPECT_THAT(linker.Link(2, {small}), ElementsAre(3));
}

TEST(TrackLinker, ReachIsMeasuredInThePicturesOwnShape) {
  // 0.3 of the width of a wide picture is further than 0.3 of its height.
  TrackLinker square({.aspect = 1});
  square.Link(0, {At(0.3, 0.5)});
  EXPECT_THAT(square.Link(1, {At(0.6, 0.5)}), ElementsAre(1));
  TrackLinker wide({.aspect = 2});
  wide.Link(0, {At(0.3, 0.5)});
  EXPECT_THAT(wide.Link(1, {At(0.6, 0.5)}), ElementsAre(2));
}

TEST(TrackLinker, TwoBoxesOfOnePersonGetTwoIds) {
  TrackLinker linker({});
  linker.Link(0, {At(0.5, 0.5)});
  EXPECT_THAT(linker.Link(1, {At(0.53, 0.5, 0.9F), At(0.5, 0.5, 0.5F)}), ElementsAre(2, 1));
  EXPECT_THAT(linker.Link(2, {At(0.5, 0.5), At(0.9, 0.5)}), ElementsAre(1, 3));
}

TEST(TrackLinker, EmptyBoxesAndTimeThatStandsStillAreBorne) {
  TrackLinker linker({});
  const PersonBox empty = {0.5F, 0.5F, 0.5F, 0.5F, 0.9F};
  EXPECT_THAT(linker.Link(0, {At(0.5, 0.5), empty}), ElementsAre(1, 2));
  EXPECT_THAT(linker.Link(0, {empty, At(0.5, 0.5)}), ElementsAre(3, 1));
}

}  // namespace
}  // namespace scanline
