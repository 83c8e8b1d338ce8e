#include "base/team.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <new>
#include <numeric>

namespace scanline::testing {
namespace {

TEST(Team, RunsOnEveryThreadOnceAndWaitsForAll) {
  for (int size : {1, 2, 3, 7}) {
    Team team(size);
    ASSERT_EQ(team.size(), size);
    std::vector<int> calls(static_cast<size_t>(size));  // Plain: the team orders the accesses.
    constexpr int kRounds = 300;
    for (int round = 0; round < kRounds; ++round) {
      team.Run([&](int rank) { ++calls[rank]; });
      ASSERT_EQ(std::accumulate(calls.begin(), calls.end(), 0), size * (round + 1)) << size;
    }
    EXPECT_EQ(std::count(calls.begin(), calls.end(), kRounds), size);
  }
}

TEST(Team, ForEachTakesEveryItemOnce) {
  Team team(3);
  for (int count : {0, 1, 2, 3, 64, 1000}) {
    std::vector<int> taken(static_cast<size_t>(count));
    std::vector<int> by(3);
    team.ForEach(count, [&](int item, int rank) {
      ++taken[item];
      ++by[rank];
    });
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), count);
    EXPECT_EQ(std::accumulate(by.begin(), by.end(), 0), count);
  }
}

// What a thread wrote before the barrier the others read after it.
TEST(Team, ABarrierInsideARunSeparatesItsPhases) {
  constexpr int kSize = 4;
  constexpr int kPhases = 200;
  Team team(kSize);
  Barrier barrier(kSize, kSize);
  std::vector<int> written(kSize);
  std::vector<int> wrong(kSize);
  team.Run([&](int rank) {
    for (int phase = 1; phase <= kPhases; ++phase) {
      written[rank] = phase;
      barrier.Wait();
      wrong[rank] += kSize - static_cast<int>(std::count(written.begin(), written.end(), phase));
      barrier.Wait();
    }
  });
  EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0), 0);
}

// CPU seconds of a thread that waits `kRounds` times for one that is late.
double CpuOfWaiting(int threads) {
  constexpr int kRounds = 50;
  Barrier barrier(2, threads);
  std::thread late([&] {
    for (int round = 0; round < kRounds; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Longer than anyone spins.
      barrier.Wait();
    }
  });
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double began = now();
  for (int round = 0; round < kRounds; ++round) barrier.Wait();
  const double took = now() - began;
  late.join();
  return took;
}

// Who spins would keep a core from the thread that is waited for, also where few meet at a barrier
// while many run: passes of four threads on two cores took up to ten times as long.
TEST(Barrier, DoesNotSpinWhereThreadsOutnumberCores) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "on one core nobody spins";
  EXPECT_LT(CpuOfWaiting(100'000), CpuOfWaiting(2) / 2);
}

TEST(Team, SleepsBetweenCallsAndWakesUp) {
  Team team(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // Longer than it spins.
    int calls[2] = {};
    team.Run([&](int rank) { ++calls[rank]; });
    EXPECT_EQ(calls[0] + calls[1], 2);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // And goes home from its sleep.
}

// The system may leave them on one core for good: two threads then took twice the time of one.
TEST(Team, ThreadsPartThatFindThemselvesOnOneCore) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "there is no other core to go to";
  Team team(2);
  const int here = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);  // Of the caller, which stays.
  constexpr int kRounds = 20;
  int together = 0;
  int allowed_after = 0;
  for (int round = 0; round < kRounds; ++round) {
    team.Run([&](int rank) {
      if (rank == 0) return;
      sched_setaffinity(0, sizeof(one), &one);
      sched_setaffinity(0, sizeof(allowed), &allowed);  // Here, and free to go.
    });
    team.Run([&](int rank) {
      if (rank == 0) return;
      together += sched_getcpu() == here;
      cpu_set_t mine;
      sched_getaffinity(0, sizeof(mine), &mine);
      allowed_after += CPU_EQUAL(&mine, &allowed) != 0;
    });
  }
  sched_setaffinity(0, sizeof(allowed), &allowed);
  EXPECT_LE(together, kRounds / 4);   // The system may have moved it back.
  EXPECT_EQ(allowed_after, kRounds);  // Nobody is pinned.
}

TEST(Team, ThrowsOnTheCallersThreadWhatAnyThreadThrew) {
  for (int who : {0, 1, 2}) {
    Team team(3);
    int finished = 0;
    EXPECT_THROW(team.Run([&](int rank) {
      if (rank == who) throw std::bad_alloc();
    }),
                 std::bad_alloc);
    team.Run([&](int rank) {  // And goes on.
      if (rank == 0) ++finished;
    });
    EXPECT_EQ(finished, 1);
  }
}

// Sanitizers need more addresses than this leaves.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
[[noreturn]] void MakeATeamTooLargeForTheMemory() {
  constexpr rlim_t kBytes = rlim_t{1} << 30;
  const rlimit little{kBytes, kBytes};
  setrlimit(RLIMIT_AS, &little);
  try {
    const Team team(100'000);
  } catch (const std::exception&) {
    std::_Exit(7);
  }
  std::_Exit(1);
}

TEST(Team, ThreadsThatCannotBeMadeCostTheTeamNotTheProcess) {
  EXPECT_EXIT(MakeATeamTooLargeForTheMemory(), ::testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace scanline::testing
