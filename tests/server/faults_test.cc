// A lost device ends the process: no recovery is possible inside it.

#include "tests/server/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "tests/server/running_server.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;

constexpr char kFaulty[] = SCANLINE_BIN_DIR "/../tests/bin/server_faulty_server";

std::string Text(const std::string& path) {
  const std::vector<uint8_t> bytes = testing::ReadBytes(path);
  return {bytes.begin(), bytes.end()};
}

int PortIn(const std::string& log, const std::string& mark) {
  return std::atoi(log.c_str() + log.find(mark) + mark.size());
}

TEST(DeviceLost, AnswersThenGoesNotServingAndExitsWith3) {
  testing::Process server(
      {kFaulty, "--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0",
       "--model=" SCANLINE_SOURCE_DIR "/assets/models/tagger24", "--lame-duck=30", "--workers=1"},
      {.env = {"SCANLINE_TEST_FAULT=DEVICE_LOST"}});
  ASSERT_TRUE(server.WaitForText("ready grpc_port=")) << server.text();
  testing::Connection client(PortIn(server.text(), "grpc_port="));

  grpc::ClientContext watch_context;
  grpc::health::v1::HealthCheckResponse health;
  const auto watch = client.health->Watch(&watch_context, {});
  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::SERVING);

  const testing::Outcome outcome = testing::Call(
      client, testing::ClassifyRequest(
                  Text(SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/m00_cut.mp4")));
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(testing::ReasonIn(outcome.status), "DEVICE_LOST");

  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  const testing::ProcessResult end = server.Finish();  // well before the lame duck's 30 s
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(server.text() + end.err, HasSubstr("a device was lost"));
}

TEST(Faults, TheShippedServerHasNoneOfThem) {
  EXPECT_TRUE(absl::StrContains(Text(kFaulty), "SCANLINE_TEST_FAULT"));
  EXPECT_TRUE(absl::StrContains(Text(kFaulty), "FaultyPredictor"));
  const std::string shipped = Text(SCANLINE_BIN_DIR "/scanline-server");
  EXPECT_FALSE(absl::StrContains(shipped, "SCANLINE_TEST"));
  EXPECT_FALSE(absl::StrContains(shipped, "FaultyPredictor"));
}

}  // namespace
}  // namespace scanline
