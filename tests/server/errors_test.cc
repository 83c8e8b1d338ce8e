// Each reason of docs/errors.md, provoked over a real socket: code, details, metadata and message.
// A reason without a row here fails the last test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/doubles.h"
#include "tests/server/faults.h"
#include "tests/server/running_server.h"
#include "tests/support/files.h"

namespace scanline {
namespace {

using testing::Call;
using testing::ClassifyRequest;
using testing::ClassifyUpload;
using testing::Connection;
using testing::Running;
using testing::TestSettings;
using Details = std::vector<std::string>;

// The real decoder, and a model that any clip passes quickly.
Running Serve(const Settings& settings = TestSettings(), ModelPtr model = testing::MakeModel("m")) {
  return Running(settings, {std::move(model)}, [settings](const Request& request) {
    return DecodeRequest(request, DecodeLimitsOf(settings));
  });
}

std::string Corpus(const std::string& name) {
  const auto bytes = testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/clips/" + name);
  return {bytes.begin(), bytes.end()};
}

std::string GoodClip() { return Corpus("mp4_tiny32.mp4"); }

grpc::Status Send(const std::string& clip, const Settings& settings = TestSettings()) {
  Running server = Serve(settings);
  return Call(server, ClassifyRequest(clip)).status;
}

template <typename Change>
Settings With(Change change) {
  Settings settings = TestSettings();
  change(settings);
  return settings;
}

// The answer of a stream whose messages the caller writes.
grpc::Status Messages(Connection& server, const std::vector<v1::UploadClipRequest>& messages) {
  grpc::ClientContext context;
  v1::UploadClipResponse response;
  const auto writer = server.video->UploadClip(&context, &response);
  for (const auto& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

// The same of messages as bytes, which need be none.
grpc::Status RawMessages(Connection& server, const std::vector<std::string>& messages) {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  const grpc::internal::RpcMethod method("/scanline.v1.VideoService/UploadClip",
                                         grpc::internal::RpcMethod::CLIENT_STREAMING,
                                         server.channel);
  const std::unique_ptr<grpc::ClientWriter<grpc::ByteBuffer>> writer(
      grpc::internal::ClientWriterFactory<grpc::ByteBuffer>::Create(server.channel.get(), method,
                                                                    &context, &response));
  for (const std::string& message : messages) {
    const grpc::Slice slice(message);
    if (!writer->Write(grpc::ByteBuffer(&slice, 1))) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

v1::UploadClipRequest StartMessage() {
  v1::UploadClipRequest message;
  *message.mutable_start() = ClassifyUpload().start;
  return message;
}

v1::UploadClipRequest ChunkMessage(const std::string& bytes) {
  v1::UploadClipRequest message;
  message.set_chunk(bytes);
  return message;
}

grpc::Status WithStart(const std::function<void(v1::UploadClipRequest::Start&)>& change,
                       const std::string& clip = GoodClip()) {
  Running server = Serve();
  testing::UploadPlan plan = ClassifyUpload();
  change(plan.start);
  return testing::Upload(server, clip, plan).status;
}

grpc::Status Faulty(Reason reason, const std::string& message) {
  Running server = Serve(TestSettings(),
                         testing::WithFault(*testing::MakeModel("m"), MakeError(reason, message)));
  return Call(server, ClassifyRequest(GoodClip())).status;
}

// One call stands at the gate, in the decoder, while `second` is made.
grpc::Status WhileOneIsHeld(const Settings& settings,
                            const std::function<grpc::Status(Running&)>& second) {
  testing::Gate gate;
  Running server(settings, {testing::MakeModel("m")},
                 [&](const Request& request) -> absl::StatusOr<Clip> {
                   const auto* content = std::get_if<std::string>(&request.input);
                   if (content != nullptr && *content == "hold") gate.Wait();
                   return testing::MakeClip(1);
                 });
  auto held =
      std::async(std::launch::async, [&] { return Call(server, ClassifyRequest("hold")).status; });
  gate.AwaitWaiters(1);
  grpc::Status status = second(server);
  gate.Open();
  held.wait();
  return status;
}

// While it lives, files of this process end at `bytes`, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*const handler_)(int);
  rlimit before_{};
};

struct Row {
  std::string name;
  Reason reason;
  Details details;  // beside ErrorInfo
  std::vector<std::string> metadata;
  std::vector<std::string> message;  // parts of it
  std::function<grpc::Status()> provoke;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> InputRows() {
  return {
      {"EmptyContent",
       Reason::kVideoUnreadable,
       {"BadRequest"},
       {},
       {"expected the bytes of a video", "found 0 bytes"},
       [] { return Send(""); }},
      {"NoInput",
       Reason::kFieldInvalid,
       {"BadRequest"},
       {"field", "expected", "found"},
       {"input", "expected content, frames or a tensor", "found none"},
       [] {
         Running server = Serve();
         v1::AnalyzeClipRequest request = ClassifyRequest("");
         request.clear_content();
         return Call(server, request).status;
       }},
      {"TensorNotFinite",
       Reason::kFieldInvalid,
       {"BadRequest"},
       {"field"},
       {"tensor.values[1]", "expected a finite number", "found nan"},
       [] {
         Running server = Serve();
         v1::AnalyzeClipRequest request = ClassifyRequest("");
         const FrameSpec model = testing::MakeModel("m")->config.frame_spec;
         v1::ClipTensor& tensor = *request.mutable_tensor();
         std::vector<float> values(size_t{3} * model.sampling.frames * model.size * model.size);
         values[1] = NAN;
         tensor.set_frames(static_cast<uint32_t>(model.sampling.frames));
         tensor.set_height(static_cast<uint32_t>(model.size));
         tensor.set_width(static_cast<uint32_t>(model.size));
         tensor.set_values(values.data(), values.size() * sizeof(float));
         return Call(server, request).status;
       }},
      {"EmptyUpload",
       Reason::kVideoUnreadable,
       {"BadRequest"},
       {},
       {"expected the bytes of a video", "found 0 bytes"},
       [] { return WithStart([](auto&) {}, ""); }},
      {"OddDigest",
       Reason::kFieldInvalid,
       {"BadRequest"},
       {"field", "expected", "found"},
       {"start.sha256", "expected none or 32 bytes", "found 3 bytes"},
       [] { return WithStart([](auto& start) { start.set_sha256("abc"); }); }},
      {"Text",
       Reason::kVideoUnreadable,
       {"BadRequest"},
       {},
       {"expected a video file"},
       [] { return Send("some words that are no video"); }},
      {"TextUploaded",
       Reason::kVideoUnreadable,
       {"BadRequest"},
       {},
       {"expected a video file"},
       [] { return WithStart([](auto&) {}, std::string(5 << 20, 'x')); }},
      {"UnknownCodec",
       Reason::kCodecUnsupported,
       {},
       {"codec"},
       {"no decoder for the video"},
       [] { return Send(Corpus("mp4_unknown_codec.mp4")); }},
      {"SoundAlone",
       Reason::kNoVideoStream,
       {},
       {},
       {"has no video stream"},
       [] { return Send(Corpus("mp4_audio_only.mp4")); }},
      {"CutFile",
       Reason::kVideoTruncated,
       {},
       {"frames_ok"},
       {"the file is cut", "frames"},
       [] { return Send(Corpus("mp4_faststart_cut60.mp4")); }},
      {"Damaged",
       Reason::kVideoCorrupt,
       {},
       {"frames_ok"},
       {"could not be decoded", "damaged"},
       [] { return Send(Corpus("mp4_zeroed_middle.mp4")); }},
      {"OffsetsBeyond",
       Reason::kSegmentOutOfRange,
       {"BadRequest"},
       {},
       {"3600"},
       [] {
         Running server = Serve();
         auto request = ClassifyRequest(GoodClip());
         request.mutable_spec()->mutable_sampling()->mutable_start_offset()->set_seconds(3600);
         return Call(server, request).status;
       }},
      {"NoSuchModel",
       Reason::kModelNotFound,
       {"ResourceInfo"},
       {"model", "known"},
       {"other"},
       [] {
         Running server = Serve();
         auto request = ClassifyRequest(GoodClip());
         request.mutable_spec()->set_model("models/other");
         return Call(server, request).status;
       }},
      {"NoSuchTask",
       Reason::kTaskUnsupported,
       {"PreconditionFailure"},
       {"model", "task"},
       {"TASK_EMBED"},
       [] {
         Running server = Serve();
         auto request = ClassifyRequest(GoodClip());
         request.mutable_spec()->set_tasks(0, v1::TASK_EMBED);
         return Call(server, request).status;
       }},
  };
}

std::vector<Row> LimitRows() {
  const Details none;
  const std::vector<std::string> both = {"limit", "actual"};
  return {
      {"LargeMessage",
       Reason::kClipTooLarge,
       none,
       both,
       {"1048577 bytes", "up to 1048576"},
       [] {
         return Send(std::string((1 << 20) + 1, 'x'),
                     With([](Settings& s) { s.max_clip_mib = 1; }));
       }},
      {"LargeClaim",
       Reason::kClipTooLarge,
       none,
       both,
       {"2147483649 bytes", "up to 2147483648"},
       [] {
         return WithStart([](auto& start) { start.set_content_bytes((uint64_t{2} << 30) + 1); });
       }},
      {"LargeUpload",
       Reason::kClipTooLarge,
       none,
       both,
       {"at least", "up to 1048576"},
       [] {
         Running server = Serve(With([](Settings& s) { s.max_upload_mib = 1; }));
         // A real video whose end is padding, so that only the count can refuse it.
         std::string clip = GoodClip();
         const uint32_t size = 2 << 20;
         for (int shift = 24; shift >= 0; shift -= 8) clip.push_back(char(size >> shift));
         clip += "free" + std::string(size - 8, '\0');
         return testing::Upload(server, clip, ClassifyUpload()).status;
       }},
      {"Pixels",
       Reason::kResolutionLimit,
       none,
       both,
       {"at most 100 pixels"},
       [] { return Send(GoodClip(), With([](Settings& s) { s.max_pixels = 100; })); }},
      {"Duration",
       Reason::kDurationLimit,
       none,
       both,
       {"s long", "at most 0.1 s"},
       [] { return Send(GoodClip(), With([](Settings& s) { s.max_clip_seconds = 0.1; })); }},
      {"Frames",
       Reason::kFrameLimit,
       none,
       {"limit"},
       {"more than 3 frames"},
       [] { return Send(GoodClip(), With([](Settings& s) { s.max_frames = 3; })); }},
      {"DecodeSeconds",
       Reason::kDecodeBudget,
       none,
       both,
       {"at most 0.0 s"},
       [] {
         return Send(Corpus("mp4_longgop.mp4"),
                     With([](Settings& s) { s.max_decode_seconds = 0.001; }));
       }},
      {"PacketsWithoutFrame",
       Reason::kDecodeBudget,
       none,
       {"limit"},
       {"1 packets in a row gave no frame"},
       [] {
         return Send(Corpus("mp4_bpyramid_ref16.mp4"),
                     With([](Settings& s) { s.max_packets_without_frame = 1; }));
       }},
  };
}

std::vector<Row> StreamRows() {
  return {
      {"FewerBytes",
       Reason::kChecksumMismatch,
       {},
       {"expected", "found"},
       {"was to have", "send it again"},
       [] {
         return WithStart([](auto& start) { start.set_content_bytes(GoodClip().size() + 1); });
       }},
      {"MoreBytes",
       Reason::kChecksumMismatch,
       {},
       {"expected", "found"},
       {"was to have 100 bytes", "at least"},
       [] {
         Running server = Serve();
         testing::UploadPlan plan = ClassifyUpload(60);
         plan.start.set_content_bytes(100);
         return testing::Upload(server, GoodClip(), plan).status;
       }},
      {"OtherBytes",
       Reason::kChecksumMismatch,
       {},
       {"expected", "found"},
       {"was to have SHA-256 0101", "has "},
       [] { return WithStart([](auto& start) { start.set_sha256(std::string(32, '\1')); }); }},
      {"OtherBytesOfABadVideo",
       Reason::kChecksumMismatch,
       {},
       {"expected", "found"},
       {"was to have SHA-256"},
       [] {
         return WithStart(
             [](auto& start) {
               start.set_sha256(std::string(32, '\1'));
               start.set_content_bytes(5);
             },
             "words");
       }},
      {"ChunkFirst",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"expected `start` in the first message", "found chunk in the first"},
       [] {
         Running server = Serve();
         return Messages(server, {ChunkMessage("x")});
       }},
      {"StartTwice",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"found a second start"},
       [] {
         Running server = Serve();
         return Messages(server, {StartMessage(), ChunkMessage("x"), StartMessage()});
       }},
      {"EmptyMessage",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"found neither after the first"},
       [] {
         Running server = Serve();
         return Messages(server, {StartMessage(), {}});
       }},
      {"GarbageInTheMiddle",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"expected an UploadClipRequest message", "found 3 bytes that are none"},
       [] {
         Running server = Serve();
         const std::string clip = GoodClip();
         return RawMessages(
             server,
             {StartMessage().SerializeAsString(),
              ChunkMessage(clip.substr(0, clip.size() / 2)).SerializeAsString(), "\xff\xff\xff",
              ChunkMessage(clip.substr(clip.size() / 2)).SerializeAsString()});
       }},
      {"GarbageAfterTheClip",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"found 3 bytes that are none"},
       [] {
         Running server = Serve();
         return RawMessages(server, {StartMessage().SerializeAsString(),
                                     ChunkMessage(GoodClip()).SerializeAsString(), "\xff\xff\xff"});
       }},
      {"GarbageFirst",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"found 3 bytes that are none"},
       [] {
         Running server = Serve();
         return RawMessages(server, {"\xff\xff\xff", StartMessage().SerializeAsString()});
       }},
      {"NoMessage",
       Reason::kStreamProtocol,
       {"PreconditionFailure"},
       {"found"},
       {"found the end of the stream"},
       [] {
         Running server = Serve();
         return Messages(server, {});
       }},
      {"IdleUpload",
       Reason::kStreamIdle,
       {},
       {"limit_seconds"},
       {"expected a message within 0.2 s", "found none"},
       [] {
         Running server = Serve(With([](Settings& s) { s.idle_timeout = 0.2; }));
         grpc::ClientContext context;
         v1::UploadClipResponse response;
         const auto writer = server.video->UploadClip(&context, &response);
         writer->Write(StartMessage());
         writer->Write(ChunkMessage(GoodClip().substr(0, 1000)));
         return writer->Finish();  // without WritesDone
       }},
      {"IdleFromTheBeginning",
       Reason::kStreamIdle,
       {},
       {"limit_seconds"},
       {"found none"},
       [] {
         Running server = Serve(With([](Settings& s) { s.idle_timeout = 0.2; }));
         grpc::ClientContext context;
         v1::UploadClipResponse response;
         return server.video->UploadClip(&context, &response)->Finish();
       }},
  };
}

std::vector<Row> LoadRows() {
  const Details retry = {"RetryInfo"};
  return {
      {"NotLoaded",
       Reason::kModelLoading,
       retry,
       {"retry_delay_ms"},
       {"being loaded"},
       [] {
         testing::Gate gate;
         auto model = std::make_shared<ServedModel>(*testing::MakeModel("m"));
         model->make_predictor = [&gate, make = model->make_predictor] {
           gate.Wait();
           return make();
         };
         Running server(testing::StartApp(
             TestSettings(), {model}, [](const Request&) { return testing::MakeClip(1); },
             /*wait_ready=*/false));
         grpc::Status status = Call(server, ClassifyRequest("x")).status;
         gate.Open();
         return status;
       }},
      {"ManyRequests",
       Reason::kQueueFull,
       retry,
       {"requests", "max_requests", "retry_delay_ms"},
       {"1 requests", "limits are 1 requests"},
       [] {
         return WhileOneIsHeld(With([](Settings& s) { s.max_requests = 1; }), [](Running& server) {
           return Call(server, ClassifyRequest("x")).status;
         });
       }},
      {"ManyBytes",
       Reason::kQueueFull,
       retry,
       {"bytes", "max_bytes", "retry_delay_ms"},
       {"and 1048576 bytes"},
       [] {
         return WhileOneIsHeld(
             With([](Settings& s) { s.max_inflight_mib = 1; }), [](Running& server) {
               return Call(server, ClassifyRequest(std::string(1 << 20, 'x'))).status;
             });
       }},
      {"ManyStreams",
       Reason::kQueueFull,
       retry,
       {"streams", "max_streams", "retry_delay_ms"},
       {"up to 1 uploads and streams"},
       [] {
         Running server = Serve(With([](Settings& s) { s.max_streams = 1; }));
         grpc::ClientContext context;
         v1::UploadClipResponse response;
         const auto first = server.video->UploadClip(&context, &response);
         first->Write(StartMessage());
         while (server.app->pipeline().snapshot().uploads.uploads == 0) std::this_thread::yield();
         grpc::Status status = Messages(server, {StartMessage()});
         first->Write(ChunkMessage(GoodClip()));
         first->WritesDone();
         EXPECT_TRUE(first->Finish().ok());
         return status;
       }},
      {"NoFolderForTheFile",
       Reason::kUploadStorage,
       retry,
       {"retry_delay_ms"},
       {"expected room for the upload", "found none: No such file"},
       [] {
         Running server = Serve(With([](Settings& s) {
           s.upload_memory_mib = 0;
           s.upload_dir = "/no/such/folder";
         }));
         return testing::Upload(server, GoodClip(), ClassifyUpload()).status;
       }},
      {"FullDisk",
       Reason::kUploadStorage,
       retry,
       {"retry_delay_ms"},
       {"expected room for the upload", "found none: File too large"},
       [] {
         const FileSizeLimit limit(1000);
         Running server = Serve(With([](Settings& s) { s.upload_memory_mib = 0; }));
         return testing::Upload(server, GoodClip(), ClassifyUpload()).status;
       }},
      {"InQueue",
       Reason::kExpiredInQueue,
       {},
       {},
       {"deadline passed"},
       [] {
         return WhileOneIsHeld(
             With([](Settings& s) { s.default_deadline = 0.2; }),
             [](Running& server) { return Call(server, ClassifyRequest("x")).status; });
       }},
      {"InDecode",
       Reason::kExpiredInDecode,
       {},
       {},
       {"deadline passed"},
       [] {
         Running server(With([](Settings& s) { s.default_deadline = 0.2; }),
                        {testing::MakeModel("m")}, [](const Request& request) {
                          while (!request.cancel.expired()) std::this_thread::yield();
                          return DecodeRequest(request, {});
                        });
         return Call(server, ClassifyRequest(GoodClip())).status;
       }},
      {"InDecodeOfAnUpload",
       Reason::kExpiredInDecode,
       {},
       {},
       {"deadline passed"},
       [] {
         Running server = Serve(With([](Settings& s) { s.max_deadline = 0.2; }));
         grpc::ClientContext context;
         v1::UploadClipResponse response;
         const auto writer = server.video->UploadClip(&context, &response);
         writer->Write(StartMessage());
         writer->Write(ChunkMessage(GoodClip().substr(0, 1000)));
         return writer->Finish();
       }},
      {"InInference",
       Reason::kExpiredInInference,
       {},
       {},
       {"deadline passed"},
       [] {
         Running server = Serve(With([](Settings& s) { s.default_deadline = 0.3; }),
                                testing::MakeModel("m", [](absl::Span<const PredictItem> items) {
                                  while (!items[0].cancel->expired()) std::this_thread::yield();
                                }));
         return Call(server, ClassifyRequest(GoodClip())).status;
       }},
      {"Draining",
       Reason::kDraining,
       retry,
       {"retry_delay_ms"},
       {"shutting down"},
       [] {
         Running server = Serve();
         server.app->pipeline().Drain();
         return Call(server, ClassifyRequest(GoodClip())).status;
       }},
  };
}

std::vector<Row> DeviceRows() {
  return {
      {"NoMemory",
       Reason::kDeviceMemory,
       {"RetryInfo"},
       {},
       {"expected room, found none"},
       [] { return Faulty(Reason::kDeviceMemory, "expected room, found none"); }},
      {"LostDevice",
       Reason::kDeviceLost,
       {},
       {},
       {"expected a device, found none"},
       [] { return Faulty(Reason::kDeviceLost, "expected a device, found none"); }},
      {"AfterALostDevice",
       Reason::kDeviceLost,
       {},
       {},
       {"send the request to another one"},
       [] {
         Running server = Serve(
             TestSettings(),
             testing::WithFault(*testing::MakeModel("m"), MakeError(Reason::kDeviceLost, "gone")));
         Call(server, ClassifyRequest(GoodClip()));
         EXPECT_FALSE(server.app->pipeline().ready());
         return Call(server, ClassifyRequest(GoodClip())).status;
       }},
      {"NotANumber",
       Reason::kNonFiniteOutput,
       {},
       {},
       {"expected finite scores, found nan"},
       [] { return Faulty(Reason::kNonFiniteOutput, "expected finite scores, found nan"); }},
      {"ABug",
       Reason::kInternal,
       {},
       {},
       {"something broke"},
       [] { return Faulty(Reason::kInternal, "something broke"); }},
  };
}

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  for (auto& some : {InputRows(), LimitRows(), StreamRows(), LoadRows(), DeviceRows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

// "BadRequest" of "type.googleapis.com/google.rpc.BadRequest"
Details DetailsOf(const grpc::Status& status) {
  google::rpc::Status all;
  EXPECT_TRUE(all.ParseFromString(status.error_details()));
  EXPECT_EQ(all.code(), status.error_code());
  EXPECT_EQ(all.message(), status.error_message());
  Details names;
  for (const auto& any : all.details()) {
    names.push_back(any.type_url().substr(any.type_url().rfind('.') + 1));
  }
  return names;
}

class Errors : public ::testing::TestWithParam<Row> {};

TEST_P(Errors, HasItsCodeDetailsAndWords) {
  const Row& row = GetParam();
  const grpc::Status status = row.provoke();
  EXPECT_EQ(status.error_code(), static_cast<int>(ReasonCode(row.reason)));
  const auto info = testing::Find<google::rpc::ErrorInfo>(status);
  ASSERT_TRUE(info.has_value()) << status.error_code() << " " << status.error_message();
  EXPECT_EQ(info->reason(), ReasonName(row.reason)) << status.error_message();
  EXPECT_EQ(info->domain(), "scanline");
  Details expected = {"ErrorInfo"};
  expected.insert(expected.end(), row.details.begin(), row.details.end());
  EXPECT_EQ(DetailsOf(status), expected);
  for (const std::string& key : row.metadata) EXPECT_EQ(info->metadata().count(key), 1U) << key;
  for (const std::string& part : row.message) {
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(Socket, Errors, ::testing::ValuesIn(AllRows()),
                         [](const auto& info) { return info.param.name; });

// The client's own library says CANCELLED; what the server makes of it is in its figures.
void Cancel(Running& server) {
  grpc::ClientContext context;
  v1::UploadClipResponse response;
  const auto writer = server.video->UploadClip(&context, &response);
  writer->Write(StartMessage());
  writer->Write(ChunkMessage(GoodClip().substr(0, 1000)));
  while (server.app->pipeline().snapshot().uploads.memory_bytes == 0) std::this_thread::yield();
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(Errors, ACancelledCallIsCountedAsSuch) {
  Running server = Serve();
  Cancel(server);
  while (server.app->pipeline().snapshot().inflight.requests > 0) std::this_thread::yield();
  EXPECT_THAT(server.app->metrics().Render({}),
              ::testing::HasSubstr("scanline_cancelled_total{stage=\"decode\"} 1"));
}

// A folder that is no bundle never gets to a socket: the program says so at start, exit code 2
// (tests/e2e/server_life_test.py).
TEST(Errors, ABadBundleIsRefusedAtStart) {
  const std::string folder = ::testing::TempDir() + "/no-bundle";
  std::filesystem::create_directories(folder);
  const auto model = LoadModel(folder, TestSettings());
  EXPECT_EQ(ReasonOf(model.status()), Reason::kBundleInvalid) << model.status();
}

TEST(Errors, EveryReasonIsProvoked) {
  std::set<Reason> provoked = {Reason::kCancelled, Reason::kBundleInvalid};  // the two tests above
  for (const Row& row : AllRows()) provoked.insert(row.reason);
  for (const Reason reason : AllReasons()) {
    EXPECT_EQ(provoked.count(reason), 1U) << ReasonName(reason) << " has no test";
  }
}

}  // namespace
}  // namespace scanline
