#include "base/cancel.h"

#include <gtest/gtest.h>

namespace scanline {
namespace {

const absl::Time kNoon = absl::FromUnixSeconds(1'000'000);

TEST(Cancel, IsOkBeforeTheDeadline) {
  const Cancel cancel(kNoon);
  EXPECT_TRUE(cancel.Check(Reason::kExpiredInDecode, kNoon - absl::Seconds(1)).ok());
}

TEST(Cancel, ExpiresAtTheDeadlineWithTheStagesReason) {
  const Cancel cancel(kNoon);
  EXPECT_EQ(ReasonOf(cancel.Check(Reason::kExpiredInDecode, kNoon)), Reason::kExpiredInDecode);
}

TEST(Cancel, CopiesShareTheFlag) {
  const Cancel cancel;
  const Cancel copy = cancel;
  copy.RequestCancel();
  EXPECT_EQ(ReasonOf(cancel.Check(Reason::kExpiredInQueue)), Reason::kCancelled);
}

}  // namespace
}  // namespace scanline
