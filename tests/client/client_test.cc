#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/digest.h"
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

TEST(Client, EmbedsTextsInTheirOrderAndTriesABusyServerAgain) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const auto answer =
      client->EmbedText("models/walker", {"busy 2", "a dog", ""}, absl::Seconds(20));
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->embeddings_size(), 3);
  EXPECT_THAT(answer->embeddings(1).values(), ElementsAre(5, 1));
  EXPECT_THAT(answer->embeddings(2).values(), ElementsAre(0, 2));
  EXPECT_EQ(server.attempts(), 3);
  EXPECT_EQ(server.last_spec().model(), "models/walker");
  EXPECT_EQ(ErrorOf(client->EmbedText("", {"task"}, absl::Seconds(10)).status()).reason,
            "TASK_UNSUPPORTED");
  EXPECT_EQ(ErrorOf(client->EmbedText("", {"stuck"}, absl::Milliseconds(100)).status()).reason,
            kNoAnswerInTime);
}

TEST(Client, GetsAModelWithTheServersLimits) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const auto answer = client->GetModel("models/walker");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->limits().max_inline_bytes(), 4U << 20);
  EXPECT_EQ(ErrorOf(client->GetModel("models/m61").status()).reason, "MODEL_NOT_FOUND");
}

UploadBytes BytesOf(const std::string& content, size_t* read_so_far, bool can_rewind = true) {
  UploadBytes bytes;
  bytes.size = content.size();
  bytes.read = [&content, read_so_far](char* out, size_t size) {
    const size_t count = content.copy(out, size, *read_so_far);
    *read_so_far += count;
    return count;
  };
  if (can_rewind) {
    bytes.rewind = [read_so_far] {
      *read_so_far = 0;
      return absl::OkStatus();
    };
  }
  return bytes;
}

TEST(Client, UploadsInPiecesWithSizeAndDigest) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const std::string clip = "walk " + std::string(9 << 20, 'x');
  size_t read = 0;
  UploadBytes bytes = BytesOf(clip, &read);
  Digest digest;
  digest.Add(clip);
  bytes.sha256 = digest.Finish();
  std::vector<uint64_t> sent;
  const auto result = client->Upload(bytes, {}, absl::Seconds(20),
                                     [&](uint64_t bytes_sent) { sent.push_back(bytes_sent); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->classes(0).label(), "walking");
  EXPECT_EQ(server.last_upload().bytes, clip.size());
  EXPECT_EQ(server.last_upload().declared, clip.size());
  EXPECT_TRUE(server.last_upload().right_digest);
  EXPECT_GE(sent.size(), 9U);
  EXPECT_EQ(sent.back(), clip.size());
}

TEST(Client, StopsReadingWhereTheServerHasAnsweredBeforeTheEnd) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const std::string clip = "bad " + std::string(256 << 20, 'x');
  size_t read = 0;
  const auto result = client->Upload(BytesOf(clip, &read), {}, absl::Seconds(20));
  EXPECT_EQ(ErrorOf(result.status()).reason, "VIDEO_UNREADABLE");
  EXPECT_LT(read, clip.size());
}

TEST(Client, UploadsAgainToABusyServerIfTheBytesCanBeReadAgain) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  const std::string clip = "busy 2 " + std::string(1 << 20, 'x');
  size_t read = 0;
  const auto result = client->Upload(BytesOf(clip, &read), {}, absl::Seconds(20));
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(server.attempts(), 3);

  const ServiceDouble other;
  const auto once = MustConnect(other);
  read = 0;
  const auto refused =
      once->Upload(BytesOf(clip, &read, /*can_rewind=*/false), {}, absl::Seconds(20));
  EXPECT_EQ(ErrorOf(refused.status()).reason, "QUEUE_FULL");
  EXPECT_EQ(other.attempts(), 1);
}

TEST(Client, AnErrorOfTheReaderEndsTheUploadWithIt) {
  const ServiceDouble server;
  const auto client = MustConnect(server);
  UploadBytes bytes;
  bytes.read = [](char*, size_t) -> absl::StatusOr<size_t> {
    return absl::DataLossError("the disk is gone");
  };
  EXPECT_EQ(client->Upload(bytes, {}, absl::Seconds(20)).status(),
            absl::DataLossError("the disk is gone"));
}

TEST(CheckUploadSize, RefusesWhatIsOverTheLimit) {
  v1::ServerLimits limits;
  limits.set_max_inline_bytes(1000);
  EXPECT_FALSE(CheckUploadSize(1001, limits).ok()) << "a server without uploads";
  limits.set_max_upload_bytes(2000);
  EXPECT_TRUE(CheckUploadSize(2000, limits).ok());
  const ClientError error = ErrorOf(CheckUploadSize(2001, limits));
  EXPECT_EQ(error.reason, "CLIP_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("up to 2000 bytes"));
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
