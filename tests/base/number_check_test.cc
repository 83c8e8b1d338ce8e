#include "base/number_check.h"

#include <gtest/gtest.h>

namespace scanline {
namespace {

TEST(NumberCheck, TakesTheNumbersOfItsRange) {
  const WordCheck seconds = RangeCheck("seconds", 0.5, 60);
  for (const char* good : {"0.5", "60", "1e1", " 7 "}) EXPECT_EQ(seconds(good), "") << good;
  EXPECT_EQ(seconds("61"), "expected seconds from 0.5 to 60, found 61");
  EXPECT_NE(NumberCheck("more than 0", 0, false, 1)("0"), "");
}

// Every comparison with NaN is false, so "below the least" and "above the most" both are.
TEST(NumberCheck, RefusesWhatIsNoFiniteNumber) {
  const WordCheck any = RangeCheck("a number", -1e300, 1e300);
  for (const char* bad : {"nan", "NaN", "-nan", "nan(1)", "inf", "-inf", "infinity", "1e400", "",
                          "1s", "1,5", "one"}) {
    EXPECT_NE(any(bad), "") << bad;
  }
}

}  // namespace
}  // namespace scanline
