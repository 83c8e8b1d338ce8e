#include "client/cli/send_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/escaping.h"
#include "base/digest.h"
#include "tests/client/service_double.h"

namespace scanline::cli {
namespace {

using scanline::testing::ServiceDouble;

class SendClipTest : public ::testing::Test {
 protected:
  SendClipTest() : client_(*Client::Connect(server_.address())) {
    limits_.set_max_inline_bytes(1000);
    limits_.set_max_upload_bytes(3'000'000);
  }

  static std::string Write(const std::string& bytes) {
    // A file for each test: they run side by side.
    const std::string path = ::testing::TempDir() + "/send-clip-" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  absl::StatusOr<v1::ClipResult> Send(const std::string& input) {
    return SendClip(input, *client_, limits_, {}, absl::Seconds(20),
                    [this](uint64_t sent, uint64_t total) {
                      sent_ = sent;
                      total_ = total;
                    });
  }

  DigestedAnswer SendWithDigest(const std::string& input) {
    return SendDigested(input, *client_, limits_, {}, absl::Seconds(20), nullptr);
  }
  static std::string HexDigest(const std::string& bytes) {
    Digest digest;
    digest.Add(bytes);
    return absl::BytesToHexString(digest.Finish());
  }

  ServiceDouble server_;
  const std::unique_ptr<Client> client_;
  v1::ServerLimits limits_;
  uint64_t sent_ = 0;
  uint64_t total_ = 0;
};

TEST_F(SendClipTest, SendsWhatFitsInOneMessage) {
  EXPECT_TRUE(Send(Write("walk " + std::string(995, 'x'))).ok());
  EXPECT_EQ(server_.last_upload().bytes, 0U);
}

TEST_F(SendClipTest, UploadsWhatDoesNotWithItsSizeAndDigest) {
  ASSERT_TRUE(Send(Write("walk " + std::string(2'500'000, 'x'))).ok());
  EXPECT_EQ(server_.last_upload().bytes, 2'500'005U);
  EXPECT_EQ(server_.last_upload().declared, 2'500'005U);
  EXPECT_TRUE(server_.last_upload().right_digest);
  EXPECT_EQ(sent_, 2'500'005U);
  EXPECT_EQ(total_, 2'500'005U);
}

TEST_F(SendClipTest, KnowsTheSizeOfAPipeAtItsEnd) {
  const std::string pipe = Write("") + ".pipe";
  std::remove(pipe.c_str());  // of a run before
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&pipe] { std::ofstream(pipe) << "walk " << std::string(2'500'000, 'x'); });
  EXPECT_TRUE(Send(pipe).ok());
  writer.join();
  EXPECT_EQ(server_.last_upload().bytes, 2'500'005U);
  EXPECT_EQ(total_, 2'500'005U);
}

TEST_F(SendClipTest, SendsTheWholeFileAgainToABusyServer) {
  ASSERT_TRUE(Send(Write("busy 2 " + std::string(2'500'000, 'x'))).ok());
  EXPECT_EQ(server_.attempts(), 3);
}

TEST_F(SendClipTest, TheDigestIsOfWhatWasSent) {
  for (const size_t size : {size_t{10}, size_t{2'500'000}}) {
    const std::string bytes = "walk " + std::string(size, 'x');
    const DigestedAnswer sent = SendWithDigest(Write(bytes));
    EXPECT_TRUE(sent.result.ok()) << sent.result.status();
    EXPECT_EQ(sent.sha256, HexDigest(bytes));
  }
  const DigestedAnswer bad = SendWithDigest(Write("bad"));
  EXPECT_EQ(ErrorOf(bad.result.status()).reason, "VIDEO_UNREADABLE");
  EXPECT_EQ(bad.sha256, HexDigest("bad"));
  EXPECT_EQ(SendWithDigest(::testing::TempDir() + "/none.mp4").sha256, "");
}

TEST_F(SendClipTest, AFileThatChangesBeforeItsAnswerHasNone) {
  const std::string path = Write("bad");
  server_.OnClip([] { Write("walk at last"); });
  EXPECT_EQ(ErrorOf(SendWithDigest(path).result.status()).reason, "FILE_CHANGED");
  server_.OnClip([&path] { std::filesystem::remove(path); });
  EXPECT_EQ(ErrorOf(SendWithDigest(path).result.status()).reason, "FILE_CHANGED");
}

TEST_F(SendClipTest, NamesWhatIsWrong) {
  EXPECT_EQ(ErrorOf(Send(::testing::TempDir() + "/none.mp4").status()).reason, "FILE_NOT_FOUND");
  EXPECT_EQ(ErrorOf(Send(::testing::TempDir()).status()).reason, "FILE_UNREADABLE");
  EXPECT_EQ(ErrorOf(Send(Write("")).status()).reason, "FILE_EMPTY");
  EXPECT_EQ(ErrorOf(Send(Write(std::string(3'000'001, 'x'))).status()).reason, "CLIP_TOO_LARGE");
  EXPECT_EQ(server_.attempts(), 0);
}

TEST_F(SendClipTest, StopsReadingADeviceThatIsOverTheLimit) {
  EXPECT_EQ(ErrorOf(Send("/dev/zero").status()).reason, "CLIP_TOO_LARGE");
}

}  // namespace
}  // namespace scanline::cli
