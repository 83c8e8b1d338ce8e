#include "model/person/association.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace scanline {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

auto Near(double value) { return DoubleNear(value, 1e-5); }

// Every way of giving boxes to tracks, one after the other.
Association Enumerate(const std::vector<Candidate>& candidates, size_t tracks, size_t boxes) {
  Association sums = {std::vector<double>(candidates.size(), 0), std::vector<double>(tracks, 0)};
  double all = 0;
  std::vector<bool> taken(boxes, false);
  std::vector<int> chosen(tracks, -1);
  const std::function<void(size_t, double)> give = [&](size_t track, double weight) {
    if (track == tracks) {
      all += weight;
      for (size_t t = 0; t < tracks; ++t) {
        (chosen[t] < 0 ? sums.missed[t] : sums.together[chosen[t]]) += weight;
      }
      return;
    }
    chosen[track] = -1;
    give(track + 1, weight);
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].track != track || taken[candidates[i].box]) continue;
      taken[candidates[i].box] = true;
      chosen[track] = static_cast<int>(i);
      give(track + 1, weight * candidates[i].weight);
      taken[candidates[i].box] = false;
    }
  };
  give(0, 1);
  for (double& sum : sums.together) sum /= all;
  for (double& sum : sums.missed) sum /= all;
  return sums;
}

TEST(Associate, IsExactForOneBoxAndWithoutAny) {
  const Association one = Associate({{0, 0, 3}, {1, 0, 6}}, 2, 1);
  EXPECT_THAT(one.together, ElementsAre(Near(0.3), Near(0.6)));
  EXPECT_THAT(one.missed, ElementsAre(Near(0.7), Near(0.4)));
  EXPECT_THAT(Associate({}, 2, 3).missed, ElementsAre(1, 1));
  EXPECT_THAT(Associate({}, 0, 0).together, IsEmpty());
}

TEST(Associate, ABoxThatIsSomebodyElsesIsNoRival) {
  // Track 0 may be either box; track 1 is certainly box 1.
  const Association association = Associate({{0, 0, 10}, {0, 1, 10}, {1, 1, 1e6}}, 2, 2);
  EXPECT_GT(association.together[0], 0.9);
  EXPECT_LT(association.together[1], 0.01);
  EXPECT_GT(association.together[2], 0.99);
}

TEST(Associate, TwoEquallyGoodWaysAreEquallyProbable) {
  const Association association =
      Associate({{0, 0, 1e9}, {0, 1, 1e9}, {1, 0, 1e9}, {1, 1, 1e9}}, 2, 2);
  for (double probability : association.together) EXPECT_NEAR(probability, 0.5, 0.01);
}

TEST(Associate, IsCloseToEnumerationAndKeepsToOneEach) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-2, 4);
  double error = 0;
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t tracks = 1 + random() % 4, boxes = 1 + random() % 4;
    std::vector<Candidate> candidates;
    for (size_t t = 0; t < tracks; ++t) {
      for (size_t b = 0; b < boxes; ++b) {
        if (random() % 3 > 0) candidates.push_back({t, b, std::pow(10.0, exponent(random))});
      }
    }
    const Association truth = Enumerate(candidates, tracks, boxes);
    const Association association = Associate(candidates, tracks, boxes);
    std::vector<double> of_track(tracks, 0), of_box(boxes, 0);
    for (size_t i = 0; i < candidates.size(); ++i) {
      EXPECT_NEAR(association.together[i], truth.together[i], 0.3);
      error += std::abs(association.together[i] - truth.together[i]);
      ++compared;
      of_track[candidates[i].track] += association.together[i];
      of_box[candidates[i].box] += association.together[i];
    }
    for (double sum : of_track) EXPECT_LE(sum, 1 + 1e-9);
    for (double sum : of_box) EXPECT_LE(sum, 1 + 1e-9);
  }
  EXPECT_LT(error / compared, 0.02);
}

}  // namespace
}  // namespace scanline
