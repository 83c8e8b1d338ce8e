#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/time/clock.h"
#include "base/error.h"

namespace scanline {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

RequestRecord Answered() {
  RequestRecord record;
  record.model = "models/m@1";
  record.stage = Stage::kInference;
  record.timing.receive = absl::Milliseconds(1);
  record.timing.decode_queue = absl::Milliseconds(2);
  record.timing.decode = absl::Milliseconds(30);
  record.timing.batch_queue = absl::Milliseconds(4);
  record.timing.inference = absl::Milliseconds(50);
  record.usage = {.tokens = 256, .frames_decoded = 25, .texts = 3, .text_tokens = 14};
  record.task = "classify+match_text";
  record.codec = "h264";
  record.clip_seconds = 1.5;
  record.input_bytes = 100'000;
  return record;
}

RequestRecord Refused(Stage stage, Reason reason) {
  RequestRecord record;
  record.model = "models/m@1";
  record.stage = stage;
  record.status = MakeError(reason, "no");
  record.task = "classify";
  return record;
}

// Everything that the server may ever say.
std::string RenderAll() {
  Metrics metrics(InfoLabels{{"version", "1"}}, {{{"model", "models/m@1"}, {"device", "cpu"}}});
  metrics.RecordRequest(Answered());
  metrics.RecordRequest(Refused(Stage::kDecode, Reason::kVideoUnreadable));
  metrics.RecordRequest(Refused(Stage::kReceive, Reason::kQueueFull));
  metrics.RecordRequest(Refused(Stage::kDecodeQueue, Reason::kExpiredInQueue));
  metrics.RecordRequest(Refused(Stage::kBatchQueue, Reason::kCancelled));
  metrics.RecordRequest(Refused(Stage::kInference, Reason::kNonFiniteOutput));
  metrics.RecordBatch({.model = "models/m@1",
                       .requests = 2,
                       .tokens = 512,
                       .seconds = 0.25,
                       .wasted_seconds = 0.125,
                       .fill_ratio = 0.25});
  const RpcName rpc = {"scanline.v1.VideoService", "AnalyzeClip", "unary"};
  metrics.RecordRpcStarted(rpc);
  metrics.RecordRpcHandled(rpc, "OK", absl::Milliseconds(90));
  Snapshot now;
  now.inflight = {.requests = 3, .bytes = 77};
  now.batch_queue = {.requests = 2, .tokens = 512, .oldest = absl::Seconds(1.5)};
  now.ready = true;
  now.workers = 3;
  return metrics.Render(now);
}

TEST(Metrics, HoldTheFiguresThatWereRecorded) {
  const std::string text = RenderAll();
  for (const char* line : {
           "scanline_requests_total{model=\"models/"
           "m@1\",outcome=\"ok\",task=\"classify+match_text\"} 1",
           "outcome=\"client_error\",task=\"classify\"} 1",
           "outcome=\"shed\",task=\"classify\"} 1",
           "outcome=\"expired\",task=\"classify\"} 1",
           "outcome=\"cancelled\",task=\"classify\"} 1",
           "outcome=\"error\",task=\"classify\"} 1",
           "scanline_rejected_total{reason=\"QUEUE_FULL\"} 1",
           "scanline_rejected_total{reason=\"VIDEO_UNREADABLE\"} 1",
           "scanline_decode_errors_total{reason=\"VIDEO_UNREADABLE\"} 1",
           "scanline_cancelled_total{stage=\"batch_queue\"} 1",
           "scanline_stage_duration_seconds_bucket{stage=\"decode\",le=\"0.025\"} 0",
           "scanline_stage_duration_seconds_bucket{stage=\"decode\",le=\"0.05\"} 1",
           "scanline_frames_decoded_total{codec=\"h264\"} 25",
           "scanline_tokens_total{model=\"models/m@1\"} 256",
           "scanline_texts_total{method=\"AnalyzeClip\",model=\"models/m@1\"} 3",
           "scanline_text_tokens_total{method=\"AnalyzeClip\",model=\"models/m@1\"} 14",
           "scanline_received_bytes_total{method=\"AnalyzeClip\"} 100000",
           "scanline_batches_total{model=\"models/m@1\"} 1",
           "scanline_wasted_inference_seconds_total{model=\"models/m@1\"} 0.125",
           "scanline_queue_tokens{queue=\"batch\"} 512",
           "scanline_queue_oldest_seconds{queue=\"batch\"} 1.5",
           "scanline_inflight_requests 3",
           "scanline_inflight_bytes 77",
           "scanline_ready 1",
           "scanline_draining 0",
           "scanline_build_info{version=\"1\"} 1",
           "scanline_engine_info{device=\"cpu\",model=\"models/m@1\"} 1",
           "scanline_workers 3",
           "grpc_server_started_total{",
           "grpc_code=\"OK\"",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

double ValueOf(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

TEST(Metrics, DescribeTheProcess) {
  const std::string text = RenderAll();
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GE(ValueOf(text, "process_cpu_seconds_total"), 0);
  EXPECT_GE(ValueOf(text, "process_open_fds"), 3);
  EXPECT_GT(ValueOf(text, "process_max_fds"), 3);
  EXPECT_NEAR(ValueOf(text, "process_start_time_seconds"),
              absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 3600);
}

// The rules that `promtool check metrics` looks at, and the ones of docs/operations.md.
TEST(Metrics, FollowTheNamingRules) {
  std::istringstream lines(RenderAll());
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string kind;
    std::string name;
    std::string type;
    words >> hash >> kind >> name >> type;
    if (kind == "HELP") helped.insert(name);
    if (kind != "TYPE") continue;
    types[name] = type;
    EXPECT_TRUE(helped.contains(name)) << name << " has no help";
    EXPECT_THAT(name, MatchesRegex("[a-z][a-z0-9_]*"));
    EXPECT_THAT(name,
                AnyOf(StartsWith("scanline_"), StartsWith("grpc_server_"), StartsWith("process_")));
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
    EXPECT_THAT(name, Not(AnyOf(EndsWith("_ms"), EndsWith("_milliseconds"), EndsWith("_us"),
                                EndsWith("_count"), EndsWith("_sum"), EndsWith("_bucket"))));
  }
  EXPECT_GT(types.size(), 30);
}

}  // namespace
}  // namespace scanline
