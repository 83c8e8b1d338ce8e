#include "server/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/error.h"

namespace scanline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Admission, RefusesTheRequestOverTheCountAndTakesTheNextAfterARelease) {
  Admission admission({.max_requests = 2, .max_bytes = 100});
  auto first = admission.Admit(1, absl::Now());
  auto second = admission.Admit(1, absl::Now());
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = admission.Admit(1, absl::Now());
  EXPECT_EQ(ReasonOf(third.status()), Reason::kQueueFull);
  EXPECT_THAT(third.status().message(), HasSubstr("2 requests with 2 bytes"));
  EXPECT_THAT(MetadataOf(third.status()), Contains(Pair("max_requests", "2")));
  first->Release(absl::Now());
  EXPECT_TRUE(admission.Admit(1, absl::Now()).ok());
}

TEST(Admission, BoundsBytesToo) {
  Admission admission({.max_requests = 10, .max_bytes = 100});
  auto first = admission.Admit(60, absl::Now());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(ReasonOf(admission.Admit(41, absl::Now()).status()), Reason::kQueueFull);
  EXPECT_TRUE(admission.Admit(40, absl::Now()).ok());  // its ticket goes at once
  first->Resize(99);
  EXPECT_EQ(ReasonOf(admission.Admit(2, absl::Now()).status()), Reason::kQueueFull);
  EXPECT_TRUE(admission.Admit(1, absl::Now()).ok());
}

class SharedAdmission : public ::testing::Test {
 protected:
  // As many as get in.
  std::vector<Admission::Ticket> Flood(WorkKind kind, int64_t bytes) {
    std::vector<Admission::Ticket> tickets;
    while (true) {
      auto ticket = admission_.Admit(bytes, absl::Now(), kind);
      if (!ticket.ok()) return tickets;
      tickets.push_back(*std::move(ticket));
    }
  }
  Admission admission_{{.max_requests = 80, .max_bytes = 8000, .keep_shares = true}};
};

TEST_F(SharedAdmission, AFloodOfEitherKindLeavesAnEighthForTheOther) {
  for (const auto& [flood, other] : {std::pair(WorkKind::kTexts, WorkKind::kClip),
                                     std::pair(WorkKind::kClip, WorkKind::kTexts)}) {
    const auto many = Flood(flood, 1);
    EXPECT_EQ(many.size(), 70U);
    const absl::Status refused = admission_.Admit(1, absl::Now(), flood).status();
    EXPECT_THAT(refused.message(), HasSubstr("an eighth of which is kept for"));
    EXPECT_EQ(Flood(other, 1).size(), 10U);
  }
}

TEST_F(SharedAdmission, SoDoTheirBytes) {
  const auto texts = Flood(WorkKind::kTexts, 1000);
  EXPECT_EQ(texts.size(), 7U);
  EXPECT_TRUE(admission_.Admit(1000, absl::Now()).ok());
  EXPECT_TRUE(admission_.TryHold(1000));
  EXPECT_FALSE(admission_.TryHold(1));
  admission_.GiveBack(1000);
}

// Decoding turns small files into large pictures, which is never refused.
TEST_F(SharedAdmission, ClipsThatGrewPastTheLimitLeaveTheTextsTheirShare) {
  auto clip = admission_.Admit(10, absl::Now());
  ASSERT_TRUE(clip.ok());
  clip->Resize(20'000);
  EXPECT_FALSE(admission_.Admit(1, absl::Now()).ok());
  EXPECT_EQ(Flood(WorkKind::kTexts, 500).size(), 2U);
}

TEST(Admission, ATicketGivesItsPlaceBackOnceHoweverItIsMoved) {
  Admission admission({});
  {
    auto admitted = admission.Admit(5, absl::Now());
    Admission::Ticket a = *std::move(admitted);
    Admission::Ticket b = std::move(a);
    Admission::Ticket c;
    c = std::move(b);
    EXPECT_EQ(admission.figures().requests, 1);
    EXPECT_EQ(admission.figures().bytes, 5);
    c.Release(absl::Now());
    c.Release(absl::Now());
    EXPECT_EQ(admission.figures().requests, 0);
  }
  EXPECT_EQ(admission.figures().requests, 0);
  EXPECT_EQ(admission.figures().bytes, 0);
}

TEST(Admission, TheRetryDelayFollowsHowLongRequestsTook) {
  Admission admission({.max_requests = 1, .max_bytes = 100});
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < 60; ++i) {
    auto ticket = admission.Admit(1, now);
    now += absl::Seconds(2);
    ticket->Release(now);
  }
  auto held = admission.Admit(1, now);
  int64_t delay_ms = 0;
  for (const auto& [key, value] : MetadataOf(admission.Admit(1, now).status())) {
    if (key == "retry_delay_ms") delay_ms = std::stoll(value);
  }
  EXPECT_NEAR(delay_ms, 2000, 20);
  held->Release(now);
}

TEST(Admission, DrainsForGood) {
  Admission admission({});
  auto before = admission.Admit(1, absl::Now());
  admission.Drain();
  EXPECT_EQ(ReasonOf(admission.Admit(1, absl::Now()).status()), Reason::kDraining);
  EXPECT_EQ(admission.figures().requests, 1);  // what was inside stays
}

}  // namespace
}  // namespace scanline
