// UploadClip under load and at its ends, over a real socket with the real decoder.

#include "server/upload_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/doubles.h"
#include "tests/server/running_server.h"
#include "tests/support/files.h"

namespace scanline {
namespace {

using testing::ClassifyUpload;
using testing::Connection;
using testing::Running;
using testing::TestSettings;

Running Serve(const Settings& settings) {
  return Running(settings, {testing::MakeModel("m")}, [settings](const Request& request) {
    return DecodeRequest(request, DecodeLimitsOf(settings));
  });
}

std::string GoodClip() {
  const auto bytes =
      testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/mp4_faststart_cut60.mp4");
  return {bytes.begin(), bytes.end()};
}

std::string WholeClip() {
  const auto bytes = testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/mp4_tiny32.mp4");
  return {bytes.begin(), bytes.end()};
}

// A good clip of `bytes` bytes, most of them in a box that says "skip me".
std::string PaddedClip(uint32_t bytes) {
  std::string clip = WholeClip();
  const auto size = static_cast<uint32_t>(bytes - clip.size());
  for (int shift = 24; shift >= 0; shift -= 8) clip.push_back(static_cast<char>(size >> shift));
  clip += "free";
  clip.resize(bytes);
  return clip;
}

// An upload whose messages the test writes one by one.
struct OpenUpload {
  explicit OpenUpload(Connection& server, uint64_t declared = 0) {
    writer = server.video->UploadClip(&context, &response);
    v1::UploadClipRequest message;
    *message.mutable_start() = ClassifyUpload().start;
    message.mutable_start()->set_content_bytes(declared);
    writer->Write(message);
  }
  bool Write(const std::string& bytes) {
    v1::UploadClipRequest message;
    message.set_chunk(bytes);
    return writer->Write(message);
  }
  grpc::Status End() {
    writer->WritesDone();
    return writer->Finish();
  }

  grpc::ClientContext context;
  v1::UploadClipResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadClipRequest>> writer;
};

Snapshot Now(Running& server) { return server.app->pipeline().snapshot(); }

int64_t Kept(Running& server) {
  const auto uploads = Now(server).uploads;
  return uploads.memory_bytes + uploads.file_bytes;
}

void AwaitNothingHeld(Running& server) {
  while (Now(server).inflight.requests > 0 || Now(server).inflight.bytes > 0 ||
         Now(server).uploads.uploads > 0 || Kept(server) > 0) {
    std::this_thread::yield();
  }
}

TEST(UploadCall, AWrongFileIsAnsweredBeforeItIsAllSent) {
  Running server = Serve(TestSettings());
  constexpr int64_t kDeclared = int64_t{1} << 30;
  OpenUpload upload(server, kDeclared);
  int64_t sent = 0;
  while (upload.Write(std::string(256 << 10, 'x'))) {
    sent += 256 << 10;
    ASSERT_LT(sent, kDeclared);
  }
  EXPECT_EQ(testing::ReasonIn(upload.writer->Finish()), "VIDEO_UNREADABLE");
  AwaitNothingHeld(server);
}

TEST(UploadCall, ALimitIsSaidAsSoonAsTheHeaderIsThere) {
  Settings settings = TestSettings();
  settings.max_pixels = 100;
  Running server = Serve(settings);
  const std::string clip = GoodClip();
  OpenUpload upload(server, clip.size());
  upload.Write(clip.substr(0, clip.size() - 100));  // the rest never comes
  EXPECT_EQ(testing::ReasonIn(upload.writer->Finish()), "RESOLUTION_LIMIT");
}

TEST(UploadCall, CancellingFreesMemoryFileAndPlace) {
  const std::string folder = ::testing::TempDir() + "/scanline-spill";
  std::filesystem::create_directories(folder);
  Settings settings = TestSettings();
  settings.upload_memory_mib = 1;
  settings.upload_dir = folder;
  Running server = Serve(settings);
  OpenUpload upload(server);
  for (int i = 0; i < 8; ++i) {
    upload.Write(i == 0 ? PaddedClip(1 << 20) : std::string(1 << 20, '\0'));
  }
  while (Now(server).uploads.file_bytes < (8 << 20)) std::this_thread::yield();
  EXPECT_EQ(Now(server).uploads.memory_bytes, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "the temporary file has a name";
  EXPECT_EQ(Now(server).inflight.requests, 1);
  upload.context.TryCancel();
  EXPECT_EQ(upload.writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  AwaitNothingHeld(server);
}

TEST(UploadCall, AnIdleUploadFreesAllToo) {
  Settings settings = TestSettings();
  settings.idle_timeout = 0.2;
  Running server = Serve(settings);
  OpenUpload upload(server);
  upload.Write(PaddedClip(4 << 20));
  EXPECT_EQ(testing::ReasonIn(upload.writer->Finish()), "STREAM_IDLE");
  AwaitNothingHeld(server);
}

TEST(UploadCall, EmptyChunksAreNoSignOfLife) {
  Settings settings = TestSettings();
  settings.idle_timeout = 0.3;
  Running server = Serve(settings);
  OpenUpload upload(server);
  upload.Write(WholeClip().substr(0, 1000));
  const absl::Time begin = absl::Now();
  while (upload.Write("") && absl::Now() - begin < absl::Seconds(10)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_EQ(testing::ReasonIn(upload.End()), "STREAM_IDLE");
  AwaitNothingHeld(server);
}

TEST(UploadCall, WhereMemoryIsShortAnUploadGoesToItsFile) {
  Settings settings = TestSettings();
  settings.max_inflight_mib = 3;
  Running server = Serve(settings);
  OpenUpload upload(server);
  const std::string clip = PaddedClip(8 << 20);
  for (size_t at = 0; at < clip.size(); at += 1 << 20) upload.Write(clip.substr(at, 1 << 20));
  while (Now(server).uploads.file_bytes == 0) std::this_thread::yield();
  EXPECT_LE(Now(server).inflight.bytes, 3 << 20);
  const grpc::Status status = upload.End();
  EXPECT_TRUE(status.ok()) << status.error_message();
  AwaitNothingHeld(server);
}

// Two uploads, and room for less than one: the younger one is not read on until the older is done.
TEST(UploadCall, BeyondTheBudgetOnlyTheOldestUploadIsRead) {
  constexpr int64_t kBudget = 4 << 20, kPiece = 256 << 10;
  Settings settings = TestSettings();
  settings.max_upload_total_mib = kBudget >> 20;
  Running server = Serve(settings);
  OpenUpload oldest(server);
  oldest.Write(PaddedClip(kPiece));
  while (Kept(server) == 0) std::this_thread::yield();

  const std::string clip = PaddedClip(64 << 20);
  Connection other(server.app->grpc_port());
  auto younger = std::async(std::launch::async, [&] {
    testing::UploadPlan plan = ClassifyUpload(kPiece);
    plan.start.set_content_bytes(clip.size());
    return testing::Upload(other, clip, plan).status;
  });
  while (Kept(server) < kBudget) std::this_thread::yield();
  for (int i = 0; i < 16; ++i) {  // the oldest goes on although the budget is used up
    ASSERT_TRUE(oldest.Write(std::string(kPiece, '\0')));
  }
  while (Kept(server) < kBudget + 15 * kPiece) std::this_thread::yield();
  EXPECT_LE(Kept(server), kBudget + 18 * kPiece);
  EXPECT_EQ(younger.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  oldest.context.TryCancel();
  EXPECT_EQ(oldest.writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  const grpc::Status status = younger.get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  AwaitNothingHeld(server);
}

// More slow uploads than threads of any kind: complete clips are answered as if they were not
// there.
TEST(UploadCall, UploadsThatStandStillHoldUpNobody) {
  Running server = Serve(TestSettings());  // one decode thread, one for uploads
  std::vector<std::unique_ptr<OpenUpload>> slow;
  for (int i = 0; i < 8; ++i) {
    slow.push_back(std::make_unique<OpenUpload>(server));
    slow.back()->Write(WholeClip().substr(0, 1000));
  }
  while (Kept(server) < 8 * (256 << 10)) std::this_thread::yield();
  EXPECT_TRUE(testing::Call(server, testing::ClassifyRequest(WholeClip())).status.ok());
  EXPECT_TRUE(testing::Upload(server, WholeClip(), ClassifyUpload()).status.ok());
  for (auto& upload : slow) {
    upload->Write(WholeClip().substr(1000));
    const grpc::Status status = upload->End();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  AwaitNothingHeld(server);
}

TEST(UploadCall, WaitingForBytesIsReceivingNotDecoding) {
  Running server = Serve(TestSettings());
  OpenUpload upload(server, WholeClip().size());
  upload.Write(WholeClip().substr(0, 1000));
  while (Now(server).decoders_busy == 0) std::this_thread::yield();
  const absl::Time begin = absl::Now();
  while (absl::Now() - begin < absl::Milliseconds(300)) std::this_thread::yield();
  upload.Write(WholeClip().substr(1000));
  ASSERT_TRUE(upload.End().ok());
  const v1::Timing& timing = upload.response.result().timing();
  EXPECT_GE(timing.receive().nanos(), 250'000'000);
  EXPECT_LT(timing.decode().nanos(), timing.receive().nanos());
}

TEST(UploadCall, IsCountedInTheFigures) {
  Running server = Serve(TestSettings());
  const std::string clip = WholeClip();
  ASSERT_TRUE(testing::Upload(server, clip, ClassifyUpload()).status.ok());
  AwaitNothingHeld(server);
  const std::string figures = server.app->metrics().Render(Now(server));
  EXPECT_THAT(figures, ::testing::HasSubstr(absl::StrCat(
                           "scanline_received_bytes_total{method=\"UploadClip\"} ", clip.size())));
  for (const char* gauge : {"scanline_streams_active 0", "scanline_upload_bytes{place=\"file\"} 0",
                            "scanline_upload_bytes{place=\"memory\"} 0",
                            "scanline_queue_requests{queue=\"upload\"} 0"}) {
    EXPECT_THAT(figures, ::testing::HasSubstr(gauge));
  }
}

TEST(UploadCall, TextsAndBoxesHaveLimits) {
  Settings settings = TestSettings();
  settings.max_texts = 2;
  settings.max_text_bytes = 5;
  settings.max_boxes = 1;
  Running server = Serve(settings);
  const auto with = [&](const std::function<void(v1::AnalysisSpec&)>& change) {
    auto request = testing::ClassifyRequest(WholeClip());
    change(*request.mutable_spec());
    return testing::Call(server, request).status.error_message();
  };
  EXPECT_THAT(with([](v1::AnalysisSpec& spec) {
                for (int i = 0; i < 3; ++i) spec.mutable_match_text()->add_texts("a");
              }),
              ::testing::HasSubstr("spec.match_text.texts: expected up to 2 texts, found 3"));
  EXPECT_THAT(with([](v1::AnalysisSpec& spec) { spec.mutable_match_text()->add_texts("sixsix"); }),
              ::testing::HasSubstr("spec.match_text.texts[0]: expected up to 5 bytes, found 6"));
  EXPECT_THAT(with([](v1::AnalysisSpec& spec) {
                for (int i = 0; i < 2; ++i) spec.mutable_detect()->add_proposals();
              }),
              ::testing::HasSubstr("spec.detect.proposals: expected up to 1, found 2"));
}

}  // namespace
}  // namespace scanline
