#include "client/cli/ordered_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace scanline::cli {
namespace {

TEST(RunInOrder, EmitsInOrderWhateverFinishesFirst) {
  std::atomic<bool> stop{false};
  std::vector<int> emitted;
  RunInOrder<int>(
      20, 4, stop,
      [](int i) {
        if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return i * i;
      },
      [&](int i, int square) {
        EXPECT_EQ(square, i * i);
        emitted.push_back(i);
      });
  ASSERT_EQ(emitted.size(), 20U);
  EXPECT_TRUE(std::is_sorted(emitted.begin(), emitted.end()));
}

TEST(RunInOrder, KeepsWithinItsJobsAndAheadOfTheSlowestByAsManyAgain) {
  std::atomic<bool> stop{false};
  std::atomic<int> under_way{0}, most{0}, begun{0}, begun_before_first{0};
  RunInOrder<int>(
      50, 3, stop,
      [&](int i) {
        ++begun;
        int now = ++under_way;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        if (i == 0) begun_before_first = begun.load();
        --under_way;
        return 0;
      },
      [](int, int) {});
  EXPECT_LE(most, 3);
  EXPECT_LE(begun_before_first, 6);
  EXPECT_EQ(begun, 50);
}

TEST(RunInOrder, StopsBeginningButEmitsWhatHasBegun) {
  std::atomic<bool> stop{false};
  std::vector<int> emitted;
  RunInOrder<int>(
      1000, 1, stop, [](int i) { return i; },
      [&](int i, int) {
        emitted.push_back(i);
        if (i == 2) stop = true;
      });
  EXPECT_GE(emitted.size(), 3U);
  EXPECT_LE(emitted.size(), 6U);
}

TEST(RunInOrder, HasNothingToDoForNoItems) {
  std::atomic<bool> stop{false};
  RunInOrder<int>(
      0, 4, stop, [](int i) { return i; }, [](int, int) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace scanline::cli
