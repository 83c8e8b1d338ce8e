#include "client/cli/ava_true_boxes.h"

#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

AvaAction Row(const char* video, int64_t milliseconds, double x_min, int action) {
  return {{video, milliseconds}, x_min, 0, 1, 0.5, action, 1};
}

TEST(TrueBoxesOf, HasEachPersonOfTheVideoOnceByTime) {
  const auto boxes = TrueBoxesOf(
      {Row("a", 2500, 0, 1), Row("a", 1000, 0.5, 1), Row("a", 1000, 0.5, 2), Row("b", 1000, 0, 1)},
      "a");
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].time_offset().seconds(), 1);
  EXPECT_EQ(boxes[0].x_min(), 0.5F);
  EXPECT_EQ(boxes[0].y_max(), 0.5F);
  EXPECT_EQ(boxes[1].time_offset().seconds(), 2);
  EXPECT_EQ(boxes[1].time_offset().nanos(), 500'000'000);
}

TEST(BoxesOfARequest, AreThoseOfWholeKeyframes) {
  // Two at 1 s, three at 2 s, one at 3 s.
  const auto boxes =
      TrueBoxesOf({Row("a", 1000, 0, 1), Row("a", 1000, 0.5, 1), Row("a", 2000, 0, 1),
                   Row("a", 2000, 0.2, 1), Row("a", 2000, 0.5, 1), Row("a", 3000, 0, 1)},
                  "a");
  ASSERT_EQ(boxes.size(), 6U);
  EXPECT_EQ(BoxesOfARequest(boxes, 1000), 6U);
  EXPECT_EQ(BoxesOfARequest(boxes, 6), 6U);
  EXPECT_EQ(BoxesOfARequest(boxes, 5), 5U);
  EXPECT_EQ(BoxesOfARequest(boxes, 4), 2U);
  EXPECT_EQ(BoxesOfARequest(boxes, 2), 2U);
  EXPECT_EQ(BoxesOfARequest(boxes, 1), 1U) << "a keyframe may have more than fit";
}

}  // namespace
}  // namespace scanline::cli
