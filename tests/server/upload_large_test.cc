// An upload of the default limit, 2 GiB, to the built server: its memory stays where it was.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/server/running_server.h"
#include "tests/support/files.h"
#include "tests/support/process.h"

namespace scanline {
namespace {

constexpr uint64_t kBytes = uint64_t{2} << 30;
constexpr size_t kPiece = 1 << 20;
constexpr int64_t kMostGrowth = 200 << 20;

int PortIn(const std::string& log, const std::string& mark) {
  return std::atoi(log.c_str() + log.find(mark) + mark.size());
}

// The most that the process ever held, bytes.
int64_t PeakResident(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atoll(line.c_str() + 6) * 1024;
  }
  return -1;
}

// A real video, then a box of zeros that says "skip me" up to 2 GiB.
struct LargeClip {
  LargeClip() {
    const auto bytes =
        testing::ReadBytes(SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/m00_pan_left.mp4");
    head.assign(bytes.begin(), bytes.end());
    const auto size = static_cast<uint32_t>(kBytes - head.size());
    for (int shift = 24; shift >= 0; shift -= 8) head.push_back(static_cast<char>(size >> shift));
    head += "free";
  }
  std::string head;
};

struct Upload {
  explicit Upload(testing::Connection& client, uint64_t declared) {
    writer = client.video->UploadClip(&context, &response);
    v1::UploadClipRequest start;
    *start.mutable_start() = testing::ClassifyUpload().start;
    start.mutable_start()->set_content_bytes(declared);
    writer->Write(start);
  }
  grpc::ClientContext context;
  v1::UploadClipResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::UploadClipRequest>> writer;
};

TEST(UploadLarge, TwoGibibytesInBoundedMemoryAndNotAByteMore) {
  testing::Process server({SCANLINE_BIN_DIR "/scanline-server", "--listen=127.0.0.1:0",
                           "--ops-listen=127.0.0.1:0", "--lame-duck=0", "--workers=1",
                           "--model=" SCANLINE_SOURCE_DIR "/assets/models/tagger24"});
  ASSERT_TRUE(server.WaitForText("ready grpc_port=")) << server.text();
  testing::Connection client(PortIn(server.text(), "grpc_port="));
  const LargeClip clip;
  v1::UploadClipRequest message;

  message.set_chunk(clip.head);
  {
    Upload small(client, 0);  // so that the model's and the decoder's own memory is in the baseline
    small.writer->Write(message);
    small.writer->WritesDone();
    small.writer->Finish();
  }
  const int64_t before = PeakResident(server.pid());
  ASSERT_GT(before, 0);

  Upload large(client, 0);
  ASSERT_TRUE(large.writer->Write(message));
  uint64_t sent = clip.head.size();
  message.mutable_chunk()->assign(kPiece, '\0');
  while (sent < kBytes) {
    if (kBytes - sent < kPiece) message.mutable_chunk()->resize(kBytes - sent);
    ASSERT_TRUE(large.writer->Write(message)) << "after " << sent << " bytes";
    sent += message.chunk().size();
  }
  large.writer->WritesDone();
  const grpc::Status status = large.writer->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(large.response.result().classes(0).label(), "pan_left");
  const int64_t growth = PeakResident(server.pid()) - before;
  std::printf("peak grew by %.1f MiB\n", static_cast<double>(growth) / (1 << 20));
  EXPECT_LT(growth, kMostGrowth);

  Upload over(client, kBytes + 1);
  EXPECT_EQ(testing::ReasonIn(over.writer->Finish()), "CLIP_TOO_LARGE");
}

}  // namespace
}  // namespace scanline
