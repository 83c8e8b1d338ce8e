// Each reason of docs/errors.md, provoked over a real socket: code, details, metadata and message.
// A reason without a row here fails the last test. tests/server/error_harness.h does the provoking.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/doubles.h"
#include "tests/server/error_harness.h"
#include "tests/server/error_rows.h"
#include "tests/server/faults.h"

namespace scanline {
namespace {

using testing::Call;
using testing::ChunkMessage;
using testing::ClassifyRequest;
using testing::ClassifyUpload;
using testing::CorpusClip;
using testing::Details;
using testing::EmbedTexts;
using testing::Faulty;
using testing::GoodClip;
using testing::InvalidField;
using testing::MatchTexts;
using testing::Messages;
using testing::RawMessages;
using testing::Row;
using testing::Running;
using testing::Send;
using testing::Serve;
using testing::StartMessage;
using testing::TestSettings;
using testing::UnsupportedTask;
using testing::WhileOneIsHeld;
using testing::With;
using testing::WithSpec;
using testing::WithStart;

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
       [] { return Send(CorpusClip("mp4_unknown_codec.mp4")); }},
      {"SoundAlone",
       Reason::kNoVideoStream,
       {},
       {},
       {"has no video stream"},
       [] { return Send(CorpusClip("mp4_audio_only.mp4")); }},
      {"CutFile",
       Reason::kVideoTruncated,
       {},
       {"frames_ok"},
       {"the file is cut", "frames"},
       [] { return Send(CorpusClip("mp4_faststart_cut60.mp4")); }},
      {"Damaged",
       Reason::kVideoCorrupt,
       {},
       {"frames_ok"},
       {"could not be decoded", "damaged"},
       [] { return Send(CorpusClip("mp4_zeroed_middle.mp4")); }},
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
       {"not served for TASK_EMBED"},
       [] {
         return WithSpec([](auto& spec) { spec.set_tasks(0, v1::TASK_EMBED); },
                         testing::MakeModel("m"));
       }},
  };
}

std::vector<Row> TextRows() {
  const Settings few = With([](Settings& s) {
    s.max_texts = 2;
    s.max_text_bytes = 4;
  });
  return {
      InvalidField("NoTexts", "texts: expected at least one text, found none",
                   [] { return EmbedTexts({}); }),
      InvalidField("ManyTexts", "texts: expected up to 2 texts, found 3",
                   [few] {
                     return EmbedTexts({"a", "b", "c"}, few);
                   }),
      InvalidField("LongText", "texts[1]: expected up to 4 bytes, found 5",
                   [few] {
                     return EmbedTexts({"a", "12345"}, few);
                   }),
      InvalidField("NothingToRead", "texts[1]: expected",
                   [] {
                     return EmbedTexts({"a", ""});
                   }),
      InvalidField("OddIdOfTexts", "request_id: expected a UUID",
                   [] { return EmbedTexts({"a"}, TestSettings(), nullptr, "7"); }),
      UnsupportedTask("TextsWithoutATower", "no text tower",
                      [] { return EmbedTexts({"a"}, TestSettings(), testing::MakeModel("m")); }),
      InvalidField("MatchWithNothing", "spec.match_text.texts: expected at least one text",
                   [] { return MatchTexts({}, {}); }),
      InvalidField("MatchWithNothingToRead", "spec.match_text.texts[1]: expected",
                   [] {
                     return MatchTexts({"a", ""}, {});
                   }),
      InvalidField("PromptsOfNothing", "spec.match_text.texts[1]: expected a label",
                   [] {
                     return MatchTexts({"a", " "}, {.use_prompts = true});
                   }),
      UnsupportedTask("RerankWithoutFusion", "no fusion layers",
                      [] { return MatchTexts({"a"}, {.rerank = true}); }),
      InvalidField("RerankOfPrompts", "spec.match_text.use_prompts: expected false beside rerank",
                   [] {
                     return MatchTexts({"a"},
                                       {.rerank = true, .use_prompts = true, .fusion_depth = 3});
                   }),
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
         return Send(CorpusClip("mp4_longgop.mp4"),
                     With([](Settings& s) { s.max_decode_seconds = 0.001; }));
       }},
      {"PacketsWithoutFrame",
       Reason::kDecodeBudget,
       none,
       {"limit"},
       {"1 packets in a row gave no frame"},
       [] {
         return Send(CorpusClip("mp4_bpyramid_ref16.mp4"),
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
         model->make_predictor = [&gate, make = model->make_predictor](int worker) {
           gate.Wait();
           return make(worker);
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
         const testing::FileSizeLimit limit(1000);
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
  for (auto& some : {InputRows(), testing::DetectRows(), TextRows(), LimitRows(), StreamRows(),
                     LoadRows(), DeviceRows()}) {
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
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
  EXPECT_EQ(testing::DetailsOf(status), expected);
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
  // Being decoded, as far as it has come.
  const Pipeline& pipeline = server.app->pipeline();
  while (pipeline.snapshot().uploads.memory_bytes == 0 || pipeline.snapshot().decoders_busy == 0) {
    std::this_thread::yield();
  }
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
