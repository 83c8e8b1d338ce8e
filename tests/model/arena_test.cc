// One memory for all passes of a worker.
#include "model/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace scanline {
namespace {

constexpr size_t kTooMuch = size_t{1} << 58;  // floats: more than any address space

TEST(Arena, GrowsToTheLargestAndStays) {
  Arena arena;
  EXPECT_EQ(arena.floats(), 0U);
  float* first = arena.Reserve(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(arena.Reserve(7), first);
  EXPECT_EQ(arena.floats(), 100U);
  arena.Reserve(1000)[999] = 1;
  EXPECT_EQ(arena.floats(), 1000U);
}

TEST(Arena, HoldsNothingAfterAFailureAndServesTheNext) {
  Arena arena;
  arena.Reserve(100);
  EXPECT_THROW(arena.Reserve(kTooMuch), std::bad_alloc);
  EXPECT_EQ(arena.floats(), 0U);
  arena.Reserve(100)[99] = 1;
}

TEST(ArenaPlan, PiecesStandOnLinesOfTheirOwn) {
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  ArenaPlan plan;
  plan.Add(&a, 17);
  plan.Add(&b, 0);
  plan.Add(&c, 16);
  EXPECT_EQ(plan.floats(), 48U);
  Arena arena;
  plan.Place(&arena);
  EXPECT_EQ(a, arena.Reserve(1));
  EXPECT_EQ(b - a, 32);
  EXPECT_EQ(c - a, 32);
  c[15] = 1;  // The last one, within the memory.
}

TEST(ArenaPlan, FollowsAnArenaThatHasGrown) {
  float* piece = nullptr;
  ArenaPlan plan;
  plan.Add(&piece, 16);
  Arena arena;
  plan.Place(&arena);
  arena.Reserve(1 << 20);
  plan.Place(&arena);
  EXPECT_EQ(piece, arena.Reserve(1));
}

}  // namespace
}  // namespace scanline
