#include "model/person/tracks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

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
  // 0.2 of the width of a wide picture is further than 0.2 of its height.
  TrackLinker square({.aspect = 1});
  square.Link(0, {At(0.3, 0.5)});
  EXPECT_THAT(square.Link(1, {At(0.5, 0.5)}), ElementsAre(1));
  TrackLinker wide({.aspect = 2});
  wide.Link(0, {At(0.3, 0.5)});
  EXPECT_THAT(wide.Link(1, {At(0.5, 0.5)}), ElementsAre(2));
}

TEST(TrackLinker, TwoBoxesOfOnePersonGetTwoIds) {
  TrackLinker linker({});
  linker.Link(0, {At(0.5, 0.5)});
  EXPECT_THAT(linker.Link(1, {At(0.57, 0.5, 0.9F), At(0.5, 0.5, 0.5F)}), ElementsAre(2, 1));
  EXPECT_THAT(linker.Link(2, {At(0.5, 0.5), At(0.9, 0.5)}), ElementsAre(1, 3));
}

TEST(TrackLinker, EmptyBoxesAndTimeThatStandsStillAreBorne) {
  TrackLinker linker({});
  const PersonBox empty = {0.5F, 0.5F, 0.5F, 0.5F, 0.9F};
  EXPECT_THAT(linker.Link(0, {At(0.5, 0.5), empty}), ElementsAre(1, 2));
  EXPECT_THAT(linker.Link(0, {empty, At(0.5, 0.5)}), ElementsAre(3, 1));
}

TEST(TrackLinker, ABoxThatMayBeOneOfTwoPeopleIsSomebodyNew) {
  // One of two people is not found. The box is nearer to the first, who would have to go 0.7 of a
  // height without any overlap; the second would have to go 1.15.
  TrackLinker linker({});
  linker.Link(0, {At(0.5, 0.5), At(0.59, 0.7)});
  EXPECT_THAT(linker.Link(1, {At(0.47, 0.637)}), ElementsAre(3));
  // Whoever was lost in doubt is not found again near by.
  EXPECT_THAT(linker.Link(2, {At(0.47, 0.637), At(0.5, 0.43)}), ElementsAre(3, 4));
}

TEST(TrackLinker, TwoWhoWalkOneBehindTheOtherAreToldApartOnceTheirSpeedIsKnown) {
  TrackLinker linker({});
  for (int look = 0; look <= 5; ++look) {
    const double walked = 0.02 * look;
    EXPECT_THAT(linker.Link(0.2 * look, {At(0.2 + walked, 0.5), At(0.3 + walked, 0.5)}),
                ElementsAre(1, 2));
  }
  // A second later the one behind is where the other was.
  EXPECT_THAT(linker.Link(2, {At(0.5, 0.5), At(0.4, 0.5)}), ElementsAre(2, 1));
}

// A box of tests/data/person/pedestrians_looks.csv.
struct Look {
  double seconds = 0;
  PersonBox box;
  std::string person;  // by eye; empty: not known
};

std::vector<Look> Pedestrians() {
  std::ifstream file(SCANLINE_SOURCE_DIR "/tests/data/person/pedestrians_looks.csv");
  std::vector<Look> looks;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    Look look;
    std::array<char, 16> person = {};
    const int read = std::sscanf(line.c_str(), "%lf,%f,%f,%f,%f,%f,%15s", &look.seconds,
                                 &look.box.x_min, &look.box.y_min, &look.box.x_max, &look.box.y_max,
                                 &look.box.score, person.data());
    EXPECT_GE(read, 6) << line;
    look.person = person.data();
    looks.push_back(look);
  }
  return looks;
}

struct Links {
  int kept = 0;      // someone who was seen at the second before has the same id
  int switched = 0;  // an id that was another person's before
  int ids = 0;
};

// Of looks every so many fifths of a second, from `first` fifths on.
Links LinkPedestrians(int first, int step) {
  TrackLinker linker({.aspect = 768.0 / 576});
  std::map<int, std::string> person_of;
  std::map<std::string, int> id_of;
  Links links;
  std::map<int, std::vector<Look>> by_time;
  for (const Look& look : Pedestrians()) {
    by_time[static_cast<int>(std::lround(look.seconds * 5))].push_back(look);
  }
  for (const auto& [fifths, looks] : by_time) {
    if (fifths < first || (fifths - first) % step != 0) continue;
    std::vector<PersonBox> boxes;
    for (const Look& look : looks) boxes.push_back(look.box);
    const std::vector<int> ids = linker.Link(fifths / 5.0, boxes);
    for (size_t i = 0; i < ids.size(); ++i) {
      links.ids = std::max(links.ids, ids[i]);
      const std::string& person = looks[i].person;
      if (person.empty()) continue;
      const auto known = person_of.find(ids[i]);
      if (known != person_of.end() && known->second != person) {
        ++links.switched;
        ADD_FAILURE() << fifths / 5.0 << " s: id " << ids[i] << " of " << known->second
                      << " goes to " << person;
      }
      const auto before = id_of.find(person);
      links.kept += before != id_of.end() && before->second == ids[i];
      person_of[ids[i]] = person;
      id_of[person] = ids[i];
    }
  }
  return links;
}

// Six people cross, stand together and walk side by side: 50 times somebody is seen at a second who
// was seen before.
TEST(TrackLinker, NobodyGetsAnothersIdInARealClip) {
  const Links second = LinkPedestrians(5, 5);
  const Links fifth = LinkPedestrians(1, 1);
  std::printf("looks every 1 s: %d links of 50, %d ids; every 0.2 s: %d links, %d ids\n",
              second.kept, second.ids, fifth.kept, fifth.ids);
  EXPECT_EQ(second.switched, 0);
  EXPECT_EQ(fifth.switched, 0);
  EXPECT_GE(second.kept, 18);
  EXPECT_GE(fifth.kept, 32);
}

}  // namespace
}  // namespace scanline
