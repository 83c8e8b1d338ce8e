#include "server/batch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/server/doubles.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeModel;
using testing::MakeRequest;

const absl::Time kStart = absl::UnixEpoch();

JobPtr MakeJob(const ModelPtr& model, const std::string& id, int64_t cost,
               absl::Time deadline = absl::InfiniteFuture()) {
  Request request = MakeRequest(model, "x", deadline);
  request.id = id;
  auto job = std::make_unique<Job>(std::move(request), [](absl::StatusOr<Reply>) {});
  job->cost = cost;
  job->entered = kStart;
  return job;
}

JobPtr MakeTexts(const ModelPtr& model, const std::string& id, int64_t cost) {
  JobPtr job = MakeJob(model, id, cost);
  job->request.input = TextsAlone{};
  return job;
}

// The ids of the jobs, which count as answered.
std::vector<std::string> Ids(std::vector<JobPtr> jobs) {
  std::vector<std::string> ids;
  for (JobPtr& job : jobs) {
    ids.push_back(job->request.id);
    job->done = nullptr;
  }
  return ids;
}

class BatchQueueTest : public ::testing::Test {
 protected:
  ~BatchQueueTest() override { Ids(queue_.TakeAll()); }

  BatchQueue queue_;
  ModelPtr a_ = MakeModel("a");
  ModelPtr b_ = MakeModel("b");
};

TEST_F(BatchQueueTest, TakesTheOldestAndItsNeighboursUpToTheRequestLimit) {
  for (const char* id : {"1", "2", "3"}) queue_.Push(MakeJob(a_, id, 10));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2, .max_tokens = 100})), ElementsAre("1", "2"));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2, .max_tokens = 100})), ElementsAre("3"));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2, .max_tokens = 100})), IsEmpty());
}

TEST_F(BatchQueueTest, NeverMixesModels) {
  queue_.Push(MakeJob(a_, "a1", 10));
  queue_.Push(MakeJob(b_, "b1", 10));
  queue_.Push(MakeJob(a_, "a2", 10));
  EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("a1", "a2"));
  EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("b1"));
}

TEST_F(BatchQueueTest, StaysWithinTheTokenLimit) {
  queue_.Push(MakeJob(a_, "1", 60));
  queue_.Push(MakeJob(a_, "2", 60));
  queue_.Push(MakeJob(a_, "3", 40));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 8, .max_tokens = 100})), ElementsAre("1", "3"));
}

TEST_F(BatchQueueTest, ARequestOverTheTokenLimitRunsAlone) {
  queue_.Push(MakeJob(a_, "big", 1000));
  queue_.Push(MakeJob(a_, "2", 1));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 8, .max_tokens = 100})), ElementsAre("big"));
}

TEST_F(BatchQueueTest, WorkersThatAskTogetherShareWhatWaits) {
  for (const char* id : {"1", "2", "3"}) queue_.Push(MakeJob(a_, id, 1));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 8}, /*pullers=*/2)), ElementsAre("1", "2"));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 8}, /*pullers=*/1)), ElementsAre("3"));
}

TEST_F(BatchQueueTest, ClipsAndTextsAreNeverInOneBatch) {
  queue_.Push(MakeJob(a_, "c1", 10));
  queue_.Push(MakeTexts(a_, "t1", 1));
  queue_.Push(MakeJob(a_, "c2", 10));
  queue_.Push(MakeTexts(a_, "t2", 1));
  EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("t1", "t2"));
  EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("c1", "c2"));
}

TEST_F(BatchQueueTest, ATextThatComesWhileClipsRunIsNext) {
  for (const char* id : {"c1", "c2", "c3", "c4"}) queue_.Push(MakeJob(a_, id, 100));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2})), ElementsAre("c1", "c2"));
  queue_.Push(MakeTexts(a_, "t", 1));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2})), ElementsAre("t"));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 2})), ElementsAre("c3", "c4"));
}

TEST_F(BatchQueueTest, AClipThatComesWhileTextsRunIsNext) {
  for (const char* id : {"t1", "t2", "t3"}) queue_.Push(MakeTexts(a_, id, 100));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 1})), ElementsAre("t1"));
  queue_.Push(MakeJob(a_, "c", 1000));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 1})), ElementsAre("c"));
  EXPECT_THAT(Ids(queue_.Pop({.max_requests = 1})), ElementsAre("t2"));
}

// Whatever the batches cost, while both wait neither gets ahead by more than one batch of each.
TEST_F(BatchQueueTest, WhileBothWaitTheyShareTheWorkersByCost) {
  constexpr int64_t kClip = 70;
  constexpr int64_t kTexts = 9;
  for (int i = 0; i < 100; ++i) queue_.Push(MakeJob(a_, "c", kClip));
  for (int i = 0; i < 700; ++i) queue_.Push(MakeTexts(a_, "t", kTexts));
  int64_t clips = 0;
  int64_t texts = 0;
  const auto all_in = [&] { return clips == 100 * kClip || texts == 700 * kTexts; };
  while (!all_in()) {
    const std::vector<std::string> batch = Ids(queue_.Pop({.max_requests = 4}));
    ASSERT_FALSE(batch.empty());
    (batch[0] == "c" ? clips : texts) +=
        static_cast<int64_t>(batch.size()) * (batch[0] == "c" ? kClip : kTexts);
    ASSERT_LE(std::abs(clips - texts), 4 * (kClip + kTexts));
  }
  EXPECT_GT(std::min(clips, texts), 5000);
}

TEST_F(BatchQueueTest, ALaneThatWasEmptyHasNoClaimOnThePast) {
  for (int i = 0; i < 50; ++i) {
    queue_.Push(MakeJob(a_, "c", 100));
    EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("c"));
  }
  for (const char* id : {"t1", "t2", "t3"}) queue_.Push(MakeTexts(a_, id, 100));
  for (const char* id : {"c1", "c2"}) queue_.Push(MakeJob(a_, id, 100));
  const BatchLimits one = {.max_requests = 1};
  std::vector<std::string> order;
  for (int i = 0; i < 5; ++i) order.push_back(Ids(queue_.Pop(one)).at(0));
  EXPECT_THAT(order, ElementsAre("t1", "t2", "c1", "t3", "c2"));
}

TEST_F(BatchQueueTest, GivesOutTheExpiredAndTheCancelledAndKeepsTheOrderOfTheRest) {
  queue_.Push(MakeJob(a_, "1", 1));
  queue_.Push(MakeJob(a_, "late", 1, kStart + absl::Seconds(5)));
  queue_.Push(MakeJob(a_, "2", 1));
  JobPtr gone = MakeJob(a_, "gone", 1);
  gone->request.cancel.RequestCancel();
  queue_.Push(std::move(gone));
  EXPECT_THAT(Ids(queue_.TakeDead(kStart + absl::Seconds(4))), ElementsAre("gone"));
  EXPECT_THAT(Ids(queue_.TakeDead(kStart + absl::Seconds(5))), ElementsAre("late"));
  EXPECT_THAT(Ids(queue_.Pop({})), ElementsAre("1", "2"));
}

TEST_F(BatchQueueTest, KnowsTheNextDeadline) {
  EXPECT_EQ(queue_.next_deadline(), absl::InfiniteFuture());
  queue_.Push(MakeJob(a_, "1", 1, kStart + absl::Seconds(9)));
  queue_.Push(MakeJob(a_, "2", 1, kStart + absl::Seconds(3)));
  EXPECT_EQ(queue_.next_deadline(), kStart + absl::Seconds(3));
}

TEST_F(BatchQueueTest, CountsRequestsTokensAndTheLongestWait) {
  queue_.Push(MakeJob(a_, "1", 10));
  queue_.Push(MakeJob(b_, "2", 5));
  const QueueFigures figures = queue_.figures(kStart + absl::Seconds(2));
  EXPECT_EQ(figures.requests, 2);
  EXPECT_EQ(figures.tokens, 15);
  EXPECT_EQ(figures.oldest, absl::Seconds(2));
}

}  // namespace
}  // namespace scanline
