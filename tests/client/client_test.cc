#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "tests/client/service_double.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ServiceDouble;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Client> MustConnect(const ServiceDouble& server) {
  auto client = Client::Connect(server.address());
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

TEST(Client, ClassifiesAClip) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const auto result = client->Classify("walk", {}, absl::Seconds(10));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->classes(0).label(), "walking");
  EXPECT_THAT(server.last_spec().tasks(), ElementsAre(v1::TASK_CLASSIFY));
}

TEST(Client, GivesTheServersReasonAndMetadata) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const ClientError error = ErrorOf(client->Classify("bad", {}, absl::Seconds(10)).status());
  EXPECT_EQ(error.code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error.reason, "VIDEO_UNREADABLE");
  EXPECT_EQ(error.message, "no known container in the first 2.1 kB");
  EXPECT_THAT(error.metadata, ElementsAre(Pair("who", "double")));
}

// 3 MiB: gRPC's own retry buffer of 256 KiB would have given up on the first refusal.
TEST(Client, TriesABusyServerAgainAlsoWithALargeClip) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const std::string clip = "busy 3 " + std::string(3 << 20, 'x');
  const auto result = client->Classify(clip, {}, absl::Seconds(20));
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(server.attempts(), 4);
}

TEST(Client, GivesUpOnABusyServerAfterFourAttempts) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const ClientError error = ErrorOf(client->Classify("busy 9", {}, absl::Seconds(20)).status());
  EXPECT_EQ(error.reason, "QUEUE_FULL");
  EXPECT_EQ(server.attempts(), 4);
}

TEST(Client, SaysThatNoAnswerCameInTime) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const auto result = client->Classify("stuck", {}, absl::Milliseconds(100));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ErrorOf(result.status()).reason, kNoAnswerInTime);
}

TEST(Client, CancelAllEndsCallsUnderWayAndRefusesLaterOnes) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  absl::Status first;
  std::thread call(
      [&] { first = client->Classify("stuck", {}, absl::InfiniteDuration()).status(); });
  while (server.attempts() == 0) std::this_thread::yield();
  client->CancelAll();
  call.join();
  EXPECT_EQ(first.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client->Classify("walk", {}, absl::Seconds(10)).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(Client, SaysThatTheServerIsNotReadyAndStillListsItsModels) {
  ServiceDouble server;
  server.SetServing(false);
  const auto client = MustConnect(server);
  const auto serving = client->IsServing();
  ASSERT_TRUE(serving.ok()) << serving.status();
  EXPECT_FALSE(*serving);
  const auto models = client->ListModels();
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_EQ(models->at(0).name(), "models/walker");
  EXPECT_EQ(ErrorOf(client->Classify("walk", {}, absl::Seconds(10)).status()).reason,
            kServerNotReady);
}

TEST(Client, SaysThatTheServerIsGone) {
  ServiceDouble server;
  const auto client = MustConnect(server);
  ASSERT_TRUE(client->Classify("walk", {}, absl::Seconds(10)).ok());
  server.Shutdown();
  const auto result = client->Classify("walk", {}, absl::Seconds(10));
  EXPECT_EQ(ErrorOf(result.status()).reason, kConnectionRefused) << result.status();
}

TEST(Client, GetsAModelWithTheServersLimits) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const auto answer = client->GetModel("models/walker");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->limits().max_inline_bytes(), 4U << 20);
  EXPECT_EQ(ErrorOf(client->GetModel("models/m61").status()).reason, "MODEL_NOT_FOUND");
}

TEST(CheckInlineSize, RefusesWhatIsOverTheLimit) {
  v1::ServerLimits limits;
  EXPECT_TRUE(CheckInlineSize(1'000'000, limits).ok()) << "no limit told";
  limits.set_max_inline_bytes(1000);
  EXPECT_TRUE(CheckInlineSize(1000, limits).ok());
  const ClientError error = ErrorOf(CheckInlineSize(1001, limits));
  EXPECT_EQ(error.reason, "CLIP_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("1001 bytes"));
  EXPECT_THAT(error.metadata, UnorderedElementsAre(Pair("actual", "1001"), Pair("limit", "1000")));
}

}  // namespace
}  // namespace scanline
